package coordinator

import (
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// recentFor is how long an answer for display is repeated instead of computed again, so
	// that the number of viewers hardly matters to the leader.
	recentFor = 400 * time.Millisecond
	// maxRecent bounds the size in bytes of the answers that are kept.
	maxRecent = 4 << 20
)

// recentAnswers keeps the answers of the last moments. The loop owns it.
type recentAnswers struct {
	answers map[string][]byte // by subject and question
	bytes   int
	begun   time.Time // when the first of the answers was computed
}

// answer returns the recent answer to the same question, or computes one.
func (r *recentAnswers) answer(m *nats.Msg, compute func() []byte) []byte {
	now := time.Now()
	if now.Sub(r.begun) > recentFor || r.bytes > maxRecent {
		*r = recentAnswers{answers: map[string][]byte{}, begun: now}
	}
	question := m.Subject + " " + string(m.Data)
	known, ok := r.answers[question]
	if !ok {
		known = compute()
		r.answers[question] = known
		r.bytes += len(known)
	}
	return known
}

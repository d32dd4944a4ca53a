package coordinator

import (
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// recentFor is how long an answer for display is cached, so that the leader's load hardly
	// depends on the number of viewers.
	recentFor = 400 * time.Millisecond
	// maxRecent is the size in bytes above which the cache of answers is emptied.
	maxRecent = 4 << 20
)

// recentAnswers is a cache of the latest answers to queries. It is used only on the loop.
type recentAnswers struct {
	answers map[string][]byte // cached answers by subject and content of the request
	bytes   int
	begun   time.Time // time at which the oldest cached answer was computed
}

// answer returns the cached answer to the same request, or computes and caches a new answer.
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

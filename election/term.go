package election

import (
	"context"
	"time"
)

// LeadFunc leads. Its context is the leadership itself: it is done once the
// process must not act as a leader any more, whatever the reason, and
// [context.Cause] says why. Its deadline is the instant at which trust in the
// last successful renewal ends, and moves on with each renewal. Its Err looks at
// the clock, so a process that slept finds it done even before any timer has
// fired: what acts in the leader's name after a wait asks Err first.
//
// The lease is released, or handed to the successor, only after the function has
// returned. Returning while the context lives is stepping down. The successor is
// a worker's ID, or empty for whoever comes first. An error is logged, and the
// process stands aside for a while before it may lead again.
type LeadFunc func(ctx context.Context, term *Term) (successor string, err error)

// Term is one leadership, as the leading function sees it. The methods may be
// called from any goroutine, and on the zero Term do nothing.
type Term struct {
	Epoch  uint64
	Record Record // as in storage
	Cause  Cause
	Over   string        // the worker that led before, where it is known
	Since  time.Time     // when the lease was acquired
	Detect time.Duration // from the last sign of life of the leader before to the decision to replace it; 0 without such a decision
	Elect  time.Duration // from that decision to the lease held

	beat     chan struct{}
	stopping chan struct{}
	depose   func(error)
}

// Beat says that the leading loop turns. The loop calls it each turn, at least
// every [Config.RenewEvery]: a lease is renewed only after a beat, so a loop that
// stands still loses it like a process that died. It costs no more than a look
// at a channel.
func (t *Term) Beat() {
	select {
	case t.beat <- struct{}{}:
	default:
	}
}

// Stopping is closed when the process is told to stop: the leading function then
// takes its last checkpoint, names a successor and returns. Leadership goes on
// until it does.
func (t *Term) Stopping() <-chan struct{} { return t.stopping }

// Deposed says that a higher epoch was seen: in a refused write, in a message.
// Leadership has ended when it returns. An epoch that is not higher is ignored.
func (t *Term) Deposed(epoch uint64) {
	if t.depose != nil && epoch > t.Epoch {
		t.depose(higherEpoch(epoch))
	}
}

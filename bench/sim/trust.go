package sim

import (
	"context"
	"time"
)

// trust is a leadership: it ends by itself at an instant of its process's clock.
type trust struct {
	context.Context
	cancel context.CancelCauseFunc

	process *process
	until   time.Duration
	blame   error
}

func newTrust(p *process, until time.Duration) *trust {
	inner, cancel := context.WithCancelCause(context.Background())
	return &trust{Context: inner, cancel: cancel, process: p, until: until, blame: context.DeadlineExceeded}
}

// Err looks at the clock, as in package election.
func (t *trust) Err() error {
	if t.process.local() >= t.until {
		t.cancel(t.blame)
	}
	return t.Context.Err()
}

func (t *trust) end(cause error) { t.cancel(cause) }

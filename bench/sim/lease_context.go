package sim

import (
	"context"
	"time"
)

// leaseContext is the context of a leadership. The context is done at an instant on the
// process's clock. Renewals of the lease postpone that instant.
type leaseContext struct {
	context.Context
	cancel context.CancelCauseFunc

	process *process
	until   time.Duration
	expired error // cause of the end once until has passed
}

func newLeaseContext(p *process, until time.Duration) *leaseContext {
	inner, cancel := context.WithCancelCause(context.Background())
	return &leaseContext{Context: inner, cancel: cancel, process: p, until: until, expired: context.DeadlineExceeded}
}

// Err ends the context if the clock has reached until, as in package election.
func (c *leaseContext) Err() error {
	if c.process.clock() >= c.until {
		c.cancel(c.expired)
	}
	return c.Context.Err()
}

func (c *leaseContext) end(cause error) { c.cancel(cause) }

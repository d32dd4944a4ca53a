package sim

import (
	"context"
	"time"
)

// leaseContext is the context of a leadership. It is done at an instant of its
// process's clock. Renewals of the lease postpone that instant.
type leaseContext struct {
	context.Context
	cancel context.CancelCauseFunc

	process *process
	until   time.Duration
	expired error // the cause once until has passed
}

func newLeaseContext(p *process, until time.Duration) *leaseContext {
	inner, cancel := context.WithCancelCause(context.Background())
	return &leaseContext{Context: inner, cancel: cancel, process: p, until: until, expired: context.DeadlineExceeded}
}

// Err reads the clock, as in package election.
func (c *leaseContext) Err() error {
	if c.process.clock() >= c.until {
		c.cancel(c.expired)
	}
	return c.Context.Err()
}

func (c *leaseContext) end(cause error) { c.cancel(cause) }

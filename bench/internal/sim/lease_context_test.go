package sim

import (
	"context"
	"time"
)

// leaseContext is the context of a leadership. It ends at the time until, which each renewal extends.
type leaseContext struct {
	context.Context
	cancel context.CancelCauseFunc

	process *process
	until   time.Duration
	expired error // cause of the context's end when the time until is reached
}

func newLeaseContext(p *process, until time.Duration) *leaseContext {
	inner, cancel := context.WithCancelCause(context.Background())
	return &leaseContext{Context: inner, cancel: cancel, process: p, until: until, expired: context.DeadlineExceeded}
}

// Err ends the context if the process's clock has reached the time until, and then returns the
// context's error. The lease's context in package election does the same.
func (c *leaseContext) Err() error {
	if c.process.clock() >= c.until {
		c.cancel(c.expired)
	}
	return c.Context.Err()
}

func (c *leaseContext) end(cause error) { c.cancel(cause) }

package election

import (
	"context"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/election/machine"
)

// leaseContext is the context of a leadership. Each renewal of the lease extends the context's
// deadline. A deadline that has passed cannot be extended.
type leaseContext struct {
	context.Context
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	deadline time.Time // end of the leadership on the monotonic clock
	cause    error     // reason why the context ends if the deadline passes
	timer    *time.Timer
}

// newLeaseContext returns a context that ends at the deadline. The new context has the
// values of ctx but does not end when ctx ends. The caller must call end.
func newLeaseContext(ctx context.Context, deadline time.Time) *leaseContext {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	c := &leaseContext{Context: inner, cancel: cancel, deadline: deadline, cause: machine.ErrExpired}
	c.timer = time.AfterFunc(time.Until(deadline), func() { _ = c.Err() })
	return c
}

// Deadline returns the current deadline.
func (c *leaseContext) Deadline() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deadline, true
}

// Err returns an error if the context has ended. It also compares the deadline with the clock,
// because after a suspension of the process the timer fires late.
func (c *leaseContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Until(c.deadline) <= 0 {
		c.cancel(c.cause)
	}
	return c.Context.Err()
}

// extend moves the deadline, unless the context has ended.
func (c *leaseContext) extend(deadline time.Time) {
	if c.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = deadline
	c.timer.Reset(time.Until(deadline))
}

// setCause sets the cause with which the context ends if the deadline passes.
func (c *leaseContext) setCause(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cause = cause
}

// end ends the context now. Only the first call of end sets the cause.
func (c *leaseContext) end(cause error) {
	c.timer.Stop()
	c.cancel(cause)
}

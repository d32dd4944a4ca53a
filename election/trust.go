package election

import (
	"context"
	"sync"
	"time"
)

// trust is a context with a deadline that can be moved on, until it has passed.
type trust struct {
	context.Context
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	deadline time.Time // read on the monotonic clock
	blame    error     // the cause, if the deadline passes
	timer    *time.Timer
}

// newTrust returns a context that ends at the deadline. It has the values of ctx,
// but does not end with it. It must be ended.
func newTrust(ctx context.Context, deadline time.Time) *trust {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	t := &trust{Context: inner, cancel: cancel, deadline: deadline, blame: errExpired}
	t.timer = time.AfterFunc(time.Until(deadline), func() { _ = t.Err() })
	return t
}

// Deadline is when trust ends as of now.
func (t *trust) Deadline() (time.Time, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.deadline, true
}

// Err looks at the clock itself, since a timer fires late in a process that slept.
func (t *trust) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Until(t.deadline) <= 0 {
		t.cancel(t.blame)
	}
	return t.Context.Err()
}

// extend moves the deadline on. What has ended stays ended.
func (t *trust) extend(deadline time.Time) {
	if t.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deadline = deadline
	t.timer.Reset(time.Until(deadline))
}

// expect sets the cause to give if the deadline passes.
func (t *trust) expect(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.blame = cause
}

// end ends trust now. Only the first cause counts.
func (t *trust) end(cause error) {
	t.timer.Stop()
	t.cancel(cause)
}

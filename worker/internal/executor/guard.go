package executor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// limitError is the error for a job's code that took longer than its limit.
type limitError struct {
	what     string // name of the function that took too long; empty if the context of the error contains the name
	limit    time.Duration
	returned error // error that the code returned when its context was done; nil if the code did not return
}

func (e *limitError) Error() string {
	text := fmt.Sprintf("took longer than its limit of %v", e.limit)
	if e.returned == nil {
		text = fmt.Sprintf("did not return within its limit of %v, and does not end when its context is done", e.limit)
	}
	if e.what != "" {
		text = e.what + " " + text
	}
	if e.returned != nil {
		text += ": " + e.returned.Error()
	}
	return text
}

func (e *limitError) Unwrap() error { return e.returned }

// runningCode records which calls of jobs' code have not returned. The zero value is empty.
type runningCode struct {
	mu    sync.Mutex
	last  uint64
	began map[uint64]time.Time
}

// begin records a call. The caller must call returned when the call has returned.
func (r *runningCode) begin() (returned func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.began == nil {
		r.began = make(map[uint64]time.Time)
	}
	r.last++
	call := r.last
	r.began[call] = time.Now()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.began, call)
	}
}

// oldest returns the time at which the oldest running call began, or false if no call runs.
func (r *runningCode) oldest() (began time.Time, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.began {
		if !ok || b.Before(began) {
			began, ok = b, true
		}
	}
	return began, ok
}

// guard runs a job's code on a separate goroutine with a time limit. The goroutine protects the
// caller from code that calls [runtime.Goexit] or does not return.
type guard struct {
	core  *core
	limit time.Duration // time limit of the code; 0 means no limit

	// late, if not nil, is called when the limit has passed. The function late returns false if the
	// job's code has begun another function since the last check; the limit then starts again.
	late func() bool
}

// watch returns a guard that limits each function of a partition that progress records. The
// parameters partition and function are the first ones.
func (c *core) watch(limit time.Duration, progress *engine.Progress, partition uint64, function string) guard {
	return guard{core: c, limit: limit, late: func() bool {
		p, f := progress.At()
		same := p == partition && f == function
		partition, function = p, f
		return same
	}}
}

// run calls code with a context that is done when parent is done or the limit has passed. It waits
// for the code to return, at most timing.stopTimeout after the end of the context. If the code has
// not returned by then, run returns a channel that receives a value when the code returns;
// otherwise gone is nil. Until gone receives a value, the caller must not use data that the code
// uses.
func (g guard) run(parent context.Context, code func(ctx context.Context) error) (gone <-chan struct{}, err error) {
	ctx, cancel := context.WithCancel(parent)
	returned := jobs.ErrGoexit
	done := make(chan struct{}, 1)
	g.core.goroutines.Go(func() {
		defer g.core.code.begin()()
		defer func() {
			done <- struct{}{} // before the end of the context, because this process may stall between the two
			cancel()
		}()
		returned = code(ctx)
	})
	passed := g.wait(ctx, done)
	cancel()
	timer := time.NewTimer(g.core.timing.stopTimeout)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		select {
		case <-done: // this process has stalled until both had happened
		default:
			return done, &limitError{limit: g.limit}
		}
	}
	if passed && returned != nil {
		return nil, &limitError{limit: g.limit, returned: returned}
	}
	return nil, returned
}

// wait waits until the context is done or the limit has passed. The context is also done when the
// code has returned. The result passed is true if the limit has passed.
func (g guard) wait(ctx context.Context, done chan struct{}) (passed bool) {
	if g.limit == 0 {
		<-ctx.Done()
		return false
	}
	timer := time.NewTimer(g.limit)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			if g.late == nil || g.late() {
				return true
			}
			timer.Reset(g.limit)
		}
	}
}

package processes

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Watch serializes access to state that messages from processes change, and waits for conditions on
// the state.
type Watch struct {
	mu      sync.Mutex
	err     error         // first error that was passed to Fail
	changed chan struct{} // contains a token if the state has changed; capacity 1
}

// NewWatch returns a watch.
func NewWatch() *Watch { return &Watch{changed: make(chan struct{}, 1)} }

// Change calls do while no other function has access to the state.
func (w *Watch) Change(do func()) {
	w.mu.Lock()
	do()
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// Fail makes all waits return err. If Fail is called again, the first error is kept.
func (w *Watch) Fail(err error) {
	w.Change(func() {
		if w.err == nil {
			w.err = err
		}
	})
}

// stallAfter is the time without a change after which a wait fails.
const stallAfter = time.Minute

// Await waits until holds returns true. Await calls holds with exclusive access to the state. Only
// one goroutine at a time may wait.
func (w *Watch) Await(ctx context.Context, what string, holds func() bool) error {
	stalled := time.NewTimer(stallAfter)
	defer stalled.Stop()
	for {
		w.mu.Lock()
		err, held := w.err, holds()
		w.mu.Unlock()
		if err != nil || held {
			return err
		}
		select {
		case <-w.changed:
			stalled.Reset(stallAfter)
		case <-stalled.C:
			return fmt.Errorf("wait until %s: nothing has happened for %v", what, stallAfter)
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, ctx.Err())
		}
	}
}

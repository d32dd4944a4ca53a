package processes

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Watch guards what processes change by what they tell, and lets one wait for it.
type Watch struct {
	mu      sync.Mutex
	err     error         // the first failure
	changed chan struct{} // has room for one: something is new
}

// NewWatch is a watch on nothing yet.
func NewWatch() *Watch { return &Watch{changed: make(chan struct{}, 1)} }

// Change runs do, and nothing else that the watch guards beside it.
func (w *Watch) Change(do func()) {
	w.mu.Lock()
	do()
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// Fail lets everyone's wait end with an error, unless there was one before.
func (w *Watch) Fail(err error) {
	w.Change(func() {
		if w.err == nil {
			w.err = err
		}
	})
}

// stallAfter is how long nothing may change before a wait fails.
const stallAfter = time.Minute

// Await waits until holds says yes; that is called where Change's functions are. One
// goroutine at a time may wait.
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

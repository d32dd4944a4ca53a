package term

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// Waits between tries of a storage call that fails.
const (
	firstWait = 50 * time.Millisecond
	longWait  = 2 * time.Second
)

// persist tries a storage call until it succeeds, fails for another reason than
// storage being out of reach, or the term is over. It is called from tasks. An
// outage is logged when it begins and when it ends.
func (t *Term) persist(what string, call func(ctx context.Context) error) error {
	for wait := firstWait; ; wait = min(2*wait, longWait) {
		err := call(t.ctx)
		if t.ctx.Err() != nil {
			return context.Cause(t.ctx)
		}
		if !errors.Is(err, store.ErrUnavailable) {
			if wait > firstWait {
				t.log.Info("Storage is back", "doing", what)
			}
			return err
		}
		if wait == firstWait {
			t.log.Warn("Storage is out of reach, trying until it is back", "doing", what, "error", err)
		}
		t.env.Pause(t.ctx, wait)
	}
}

// fencedError: a later leader has written the manifest.
type fencedError struct{ epoch uint64 }

func (e *fencedError) Error() string {
	return fmt.Sprintf("manifest belongs to another leader: epoch %d", e.epoch)
}

// fail takes in that something could not be made durable. Being fenced ends the
// term. Otherwise storage answers in a way that no retry mends, which is worth a
// person's attention: this process cannot lead, another may.
func (t *Term) fail(err error) {
	var fenced *fencedError
	switch {
	case t.ctx.Err() != nil:
	case errors.As(err, &fenced):
		t.leadership.Deposed(fenced.epoch)
	default:
		t.log.Error("Cannot make a job's state durable, stepping down", "error", err)
		t.Stop()
	}
}

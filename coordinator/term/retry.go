package term

import (
	"context"
	"errors"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

const (
	firstRetryWait = 50 * time.Millisecond
	maxRetryWait   = 2 * time.Second
)

// retry repeats a storage call while storage is unavailable and the term is not over. retry logs
// when an outage begins and when it ends.
func (t *Term) retry(action string, call func(ctx context.Context) error) error {
	for wait := firstRetryWait; ; wait = min(2*wait, maxRetryWait) {
		err := call(t.ctx)
		if t.ctx.Err() != nil {
			return context.Cause(t.ctx)
		}
		if !errors.Is(err, store.ErrUnavailable) {
			if wait > firstRetryWait {
				t.log.Info("Storage is available again", "operation", action)
			}
			return err
		}
		if wait == firstRetryWait {
			t.log.Warn("Storage is unavailable, retrying", "operation", action, "error", err)
		}
		t.env.Pause(t.ctx, wait)
	}
}

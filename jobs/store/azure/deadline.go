package azure

import (
	"context"
	"fmt"
	"time"
)

// deadline is the time limit of a call. The limit can be extended during the call, because the size
// of a value is unknown until the response begins.
type deadline struct {
	timer *time.Timer
}

func newDeadline(cancel context.CancelCauseFunc, d time.Duration) deadline {
	return deadline{time.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })}
}

func (d deadline) reset(to time.Duration) { d.timer.Reset(to) }

func (d deadline) stop() { d.timer.Stop() }

// cause adds the reason for the end of ctx, if it has ended, to err.
func (d deadline) cause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%w (%v)", cause, err)
	}
	return err
}

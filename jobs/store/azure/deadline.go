package azure

import (
	"context"
	"fmt"
	"time"
)

// deadline bounds a call that turns out to need longer: a value's size is known
// once its first byte is there.
type deadline struct {
	timer *time.Timer
}

func newDeadline(cancel context.CancelCauseFunc, d time.Duration) deadline {
	return deadline{time.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })}
}

func (d deadline) reset(to time.Duration) { d.timer.Reset(to) }

func (d deadline) stop() { d.timer.Stop() }

// cause is why a call under ctx ended with err.
func (d deadline) cause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%w (%v)", cause, err)
	}
	return err
}

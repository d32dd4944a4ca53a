package term

import (
	"context"
	"errors"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// errCancelled says that the job was cancelled while it was being planned.
var errCancelled = errors.New("job was cancelled while it was being planned")

// plan returns the job's plan. It calls the job's code and stores the plan. If an earlier
// leader stored a plan before it died, plan returns the stored plan. Tasks call it.
func (t *Term) plan(ctx context.Context, j *activeJob) (plan jobs.Plan, err error) {
	for attempt := 1; ; attempt++ {
		plan, err = j.job.Plan(ctx, j.spec.Params)
		switch {
		case t.ctx.Err() != nil:
			return plan, context.Cause(t.ctx)
		case ctx.Err() != nil:
			return plan, errCancelled
		}
		if err == nil {
			break
		}
		if jobs.IsPermanent(err) || attempt >= j.spec.MaxAttempts {
			return jobs.Plan{}, &jobFault{err}
		}
		t.log.Warn("Plan failed, retrying", "job", j.spec.ID, "attempt", attempt, "error", err)
		t.env.Pause(ctx, time.Duration(attempt)*time.Second)
	}
	err = t.retry("write plan", func(ctx context.Context) error { return t.cfg.Store.PutPlan(ctx, j.spec.ID, plan) })
	switch {
	case errors.Is(err, store.ErrConflict):
		return t.readPlan(j.spec.ID)
	case errors.Is(err, store.ErrTooLarge):
		return jobs.Plan{}, &jobFault{err}
	}
	return plan, err
}

func (t *Term) readPlan(id string) (plan jobs.Plan, err error) {
	err = t.retry("read plan", func(ctx context.Context) (err error) {
		plan, err = t.cfg.Store.Plan(ctx, id)
		return err
	})
	return plan, err
}

package term

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// receive takes a submission from the queue. It has taken the room for its job.
func (t *Term) receive() {
	t.spawn(func() func() {
		var submission *store.Submission
		err := t.persist("receive submission", func(ctx context.Context) (err error) {
			submission, err = t.cfg.Store.Receive(ctx)
			return err
		})
		if err != nil {
			return func() { t.fail(err) }
		}
		return func() {
			t.received(submission)
			t.active.enter(t.receive)
		}
	})
}

// begin plans a job that no leader has planned, and writes the manifest that
// says so where cond, which fits the manifest before, holds.
func (t *Term) begin(ctx context.Context, spec store.Spec, before store.Manifest, cond store.Condition) (readied, error) {
	job, known := t.kinds[wire.JobKind{Name: spec.Job, Version: spec.Version}]
	if !known {
		if cond == store.IfAbsent {
			return t.leaveQueued(spec)
		}
		return t.park(spec), nil
	}
	j := newActiveJob(spec, job)
	plan, err := t.plan(ctx, j)
	var fault *jobFault
	switch {
	case errors.Is(err, errUnwanted):
		return t.ready(t.ctx, spec.ID)
	case errors.Is(err, store.ErrCorrupt):
		return setAside(spec.ID, err), nil
	case err != nil && !errors.As(err, &fault):
		return readied{}, err
	}
	now := t.env.Now().UTC()
	first := store.Manifest{
		Epoch: t.leadership.Epoch, Sequence: before.Sequence + 1, State: store.Running, Partitions: plan.Partitions,
		Epochs: []uint64{t.leadership.Epoch}, Started: now,
	}
	if fault != nil {
		first.State, first.Error, first.Finished = store.Failed, fault.Error(), now
	}
	j.version, err = t.place(spec.ID, first, cond)
	switch {
	case errors.Is(err, store.ErrConflict):
		return t.ready(ctx, spec.ID) // written by another, or by this one whose answer was lost
	case errors.Is(err, errRemoved):
		return t.removed(spec.ID)
	case err != nil:
		return readied{}, fmt.Errorf("begin job %s: %w", spec.ID, err)
	}
	if fault != nil {
		t.log.Info("Job ended", "job", spec.ID, "state", first.State, "error", first.Error)
		return readied{id: spec.ID, ended: true}, nil
	}
	j.manifest = first
	return j.with(plan)
}

// errRemoved: the job is not in storage any more.
var errRemoved = errors.New("job was removed")

// place writes the manifest of a job that is not active. Where it is the first, the
// job may have been cancelled and removed since its spec was read, so that nothing
// stands in the way of the write. So the spec is looked for once more. While it is
// there, a removal has yet to come to the manifest, and takes this one.
func (t *Term) place(id string, m store.Manifest, cond store.Condition) (version store.Version, err error) {
	err = t.persist("write manifest", func(ctx context.Context) (err error) {
		version, err = t.cfg.Store.PutManifest(ctx, id, m, cond)
		return err
	})
	if err != nil || !cond.Absent() {
		return version, err
	}
	if _, err := t.readSpec(id); errors.Is(err, store.ErrNotFound) {
		return "", fmt.Errorf("write manifest of job %s: %w", id, errRemoved)
	}
	return version, nil
}

// leaveQueued parks a job and writes a manifest that says that it was seen, so
// that its submission is not taken for one that leaders die of.
func (t *Term) leaveQueued(spec store.Spec) (readied, error) {
	queued := store.Manifest{Epoch: t.leadership.Epoch, Sequence: 1, State: store.Queued}
	_, err := t.place(spec.ID, queued, store.IfAbsent)
	switch {
	case errors.Is(err, errRemoved):
		return t.removed(spec.ID)
	case errors.Is(err, store.ErrConflict):
		return t.ready(t.ctx, spec.ID)
	case err != nil:
		return readied{}, fmt.Errorf("leave job %s queued: %w", spec.ID, err)
	}
	return t.park(spec), nil
}

// errUnwanted: the job was cancelled while it was planned.
var errUnwanted = errors.New("job is not wanted any more")

// plan cuts the job, or finds how it was cut. A plan that was kept stays, even
// where its leader died before it wrote a manifest.
func (t *Term) plan(ctx context.Context, j *activeJob) (plan jobs.Plan, err error) {
	for attempt := 1; ; attempt++ {
		plan, err = j.job.Plan(ctx, j.spec.Params)
		switch {
		case t.ctx.Err() != nil:
			return plan, context.Cause(t.ctx)
		case ctx.Err() != nil:
			return plan, errUnwanted
		}
		if err == nil {
			break
		}
		if jobs.IsPermanent(err) || attempt >= j.spec.MaxAttempts {
			return jobs.Plan{}, &jobFault{err}
		}
		t.log.Warn("Plan failed, trying again", "job", j.spec.ID, "attempt", attempt, "error", err)
		t.env.Pause(ctx, time.Duration(attempt)*time.Second)
	}
	err = t.persist("write plan", func(ctx context.Context) error { return t.cfg.Store.PutPlan(ctx, j.spec.ID, plan) })
	if errors.Is(err, store.ErrConflict) {
		err = t.persist("read plan", func(ctx context.Context) (err error) {
			plan, err = t.cfg.Store.Plan(ctx, j.spec.ID)
			return err
		})
	}
	return plan, err
}

// extend keeps the submissions of active and pending jobs hidden in the queue.
func (t *Term) extend() {
	if t.ledger == nil || t.extending.busy > 0 || t.since(t.extended) < t.cfg.ExtendEvery {
		return
	}
	t.extended = t.env.Now()
	for _, s := range t.submissions() {
		t.extending.enter(func() {
			t.spawn(func() func() {
				// One that is not extended is delivered again and attached again.
				if err := s.Extend(t.ctx); err != nil && t.ctx.Err() == nil {
					t.log.Warn("Extend submission", "job", s.ID, "error", err)
				}
				return t.extending.leave
			})
		})
	}
}

package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// receive takes submissions from the queue, as long as there is room for active
// jobs.
func (r *reign) receive() {
	for {
		select {
		case r.room <- struct{}{}:
		case <-r.ctx.Done():
			return
		}
		submission, err := r.cfg.Store.Receive(r.ctx)
		if err != nil {
			if r.ctx.Err() == nil {
				r.log.Error("Cannot receive submissions, stepping down", "error", err)
				r.post(broken{err})
			}
			return
		}
		r.spawn(func() { r.accept(submission) })
	}
}

// accept makes an active job of a submission. It may be one that is active, has
// ended or was begun by an earlier leader.
func (r *reign) accept(s *store.Submission) {
	known := make(chan bool, 1)
	r.post(seen{s, known})
	select {
	case attached := <-known:
		if attached {
			<-r.room
			return
		}
	case <-r.ctx.Done():
		return
	}
	err := r.persist("enter job in the index", func(ctx context.Context) error { return r.cfg.Store.Activate(ctx, s.ID) })
	if err != nil {
		r.failWrite(err)
		return
	}
	ready, err := r.ready(s.ID)
	if err != nil {
		r.failWrite(err)
		return
	}
	if ready.ended {
		r.tidy(s.ID, s, false)
	}
	r.post(accepted{ready, s})
}

// seen asks whether a submission's job is active already, and attaches it if so.
type seen struct {
	submission *store.Submission
	attached   chan<- bool
}

func (in seen) on(r *reign) {
	j := r.jobs[in.submission.ID]
	if j != nil {
		j.submission = in.submission
	}
	in.attached <- j != nil
}

type accepted struct {
	ready      readied
	submission *store.Submission
}

func (in accepted) on(r *reign) {
	if in.ready.active == nil || r.jobs[in.ready.id] != nil {
		<-r.room
		r.takeOn(in.ready, nil)
		return
	}
	in.ready.active.hasRoom = true
	r.takeOn(in.ready, in.submission)
}

// begin plans a job that no leader has planned, and writes the manifest that
// says so where cond, which fits the manifest before, holds.
func (r *reign) begin(spec store.Spec, before store.Manifest, cond store.Condition) (readied, error) {
	job, known := r.kinds[wire.JobKind{Name: spec.Job, Version: spec.Version}]
	if !known {
		if cond == store.IfAbsent {
			return r.leaveQueued(spec)
		}
		return r.park(spec), nil
	}
	j := &activeJob{spec: spec, job: job}
	plan, err := r.plan(j)
	var fault *jobFault
	if err != nil && !errors.As(err, &fault) {
		return readied{}, err
	}
	now := time.Now().UTC()
	first := store.Manifest{
		Epoch: r.term.Epoch, Sequence: before.Sequence + 1, State: store.Running, Partitions: plan.Partitions,
		Epochs: []uint64{r.term.Epoch}, Started: now,
	}
	if fault != nil {
		first.State, first.Error, first.Finished = store.Failed, fault.Error(), now
	}
	err = r.persist("write first manifest", func(ctx context.Context) (err error) {
		j.version, err = r.cfg.Store.PutManifest(ctx, spec.ID, first, cond)
		return err
	})
	if errors.Is(err, store.ErrConflict) {
		return r.ready(spec.ID) // written by another, or by this one whose answer was lost
	}
	if err != nil {
		return readied{}, fmt.Errorf("begin job %s: %w", spec.ID, err)
	}
	if fault != nil {
		r.log.Info("Job ended", "job", spec.ID, "state", first.State, "error", first.Error)
		r.tidy(spec.ID, nil, false)
		return readied{id: spec.ID, ended: true}, nil
	}
	j.manifest = first
	return j.with(plan)
}

// leaveQueued parks a job and writes a manifest that says that it was seen, so
// that its submission is not taken for one that leaders die of.
func (r *reign) leaveQueued(spec store.Spec) (readied, error) {
	queued := store.Manifest{Epoch: r.term.Epoch, Sequence: 1, State: store.Queued}
	err := r.persist("write first manifest", func(ctx context.Context) error {
		_, err := r.cfg.Store.PutManifest(ctx, spec.ID, queued, store.IfAbsent)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrConflict) {
		return readied{}, fmt.Errorf("leave job %s queued: %w", spec.ID, err)
	}
	return r.park(spec), nil
}

// plan cuts the job, or finds how it was cut. A plan that was kept stays, even
// where its leader died before it wrote a manifest.
func (r *reign) plan(j *activeJob) (plan jobs.Plan, err error) {
	for attempt := 1; ; attempt++ {
		plan, err = j.job.Plan(r.ctx, j.spec.Params)
		if r.ctx.Err() != nil {
			return plan, context.Cause(r.ctx)
		}
		if err == nil {
			break
		}
		if jobs.IsPermanent(err) || attempt >= j.spec.MaxAttempts {
			return jobs.Plan{}, &jobFault{err}
		}
		r.log.Warn("Plan failed, trying again", "job", j.spec.ID, "attempt", attempt, "error", err)
		select {
		case <-time.After(time.Duration(attempt) * time.Second):
		case <-r.ctx.Done():
		}
	}
	err = r.persist("write plan", func(ctx context.Context) error { return r.cfg.Store.PutPlan(ctx, j.spec.ID, plan) })
	if errors.Is(err, store.ErrConflict) {
		err = r.persist("read plan", func(ctx context.Context) (err error) {
			plan, err = r.cfg.Store.Plan(ctx, j.spec.ID)
			return err
		})
	}
	return plan, err
}

// extend keeps the submissions of active jobs hidden in the queue.
func (r *reign) extend() {
	ticker := time.NewTicker(r.cfg.ExtendEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-r.ctx.Done():
			return
		}
		held := make(chan []*store.Submission, 1)
		r.post(submissionsHeld{held})
		var list []*store.Submission
		select {
		case list = <-held:
		case <-r.ctx.Done():
			return
		}
		for _, s := range list {
			// One that is not extended is delivered again and attached again.
			if err := s.Extend(r.ctx); err != nil && r.ctx.Err() == nil {
				r.log.Warn("Could not extend a submission", "job", s.ID, "error", err)
			}
		}
	}
}

type submissionsHeld struct{ list chan<- []*store.Submission }

func (in submissionsHeld) on(r *reign) {
	var list []*store.Submission
	for _, j := range r.jobs {
		if j.submission != nil {
			list = append(list, j.submission)
		}
	}
	in.list <- list
}

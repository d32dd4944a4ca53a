package term

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// end makes a job's end durable: the result first, then the manifest that says
// so, then what reminds a leader of the job.
func (t *Term) end(e ledger.EndJob) {
	j := t.jobs[e.Job]
	j.ending.Store(true)
	final := func(as store.State, fault, digest string) {
		t.write(j, func(m *store.Manifest) {
			describe(m, e.Snapshot)
			m.State, m.Error, m.SHA256, m.Finished = as, fault, digest, t.env.Now().UTC()
			m.Nodes, m.CrashSuspects = nil, nil
		}, func() { t.ended(j) })
	}
	if e.Outcome != store.Completed {
		final(e.Outcome, e.Error, "")
		return
	}
	t.finish(j, t.partials[e.Root], func(digest string, err error) {
		var fault *jobFault
		switch {
		case errors.As(err, &fault):
			final(store.Failed, fault.Error(), "")
		case err != nil:
			t.fail(err)
		default:
			final(store.Completed, "", digest)
		}
	})
}

// jobFault is an error of the job's own code or values, which ends the job.
type jobFault struct{ err error }

func (f *jobFault) Error() string { return f.err.Error() }

// finish makes a result of the root's partial, keeps it and goes on with its digest.
func (t *Term) finish(j *activeJob, root partial, then func(digest string, err error)) {
	t.merging.enter(func() {
		t.spawn(func() func() {
			result, err := t.result(j, root)
			return func() {
				t.merging.leave()
				if err != nil {
					then("", err)
					return
				}
				t.spawn(func() func() {
					digest, err := t.keepResult(j.spec.ID, result)
					return func() { then(digest, err) }
				})
			}
		})
	})
}

// result is called from tasks.
func (t *Term) result(j *activeJob, root partial) (json.RawMessage, error) {
	data, err := t.load(j.spec.ID, root)
	switch {
	case errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt): // as it would be to the next leader
		return nil, &jobFault{err}
	case err != nil:
		return nil, err
	}
	result, err := j.job.Finish(t.ctx, j.spec.Params, data)
	switch {
	case t.ctx.Err() != nil: // and the error may be that
		return nil, context.Cause(t.ctx)
	case err != nil:
		return nil, &jobFault{err}
	}
	return result, nil
}

// keepResult is called from tasks.
func (t *Term) keepResult(job string, result json.RawMessage) (digest string, err error) {
	err = t.persist("write result", func(ctx context.Context) error {
		return t.cfg.Store.PutResult(ctx, job, result)
	})
	if errors.Is(err, store.ErrConflict) {
		return "", &jobFault{errors.New("an earlier leader has kept other bytes as the result: the job is not deterministic")}
	}
	sum := sha256.Sum256(result)
	return hex.EncodeToString(sum[:]), err
}

// ended: a job's end is durable.
func (t *Term) ended(j *activeJob) {
	id, state := j.spec.ID, j.manifest.State
	t.log.Info("Job ended", "job", id, "state", state, "error", j.manifest.Error)
	delete(t.jobs, id)
	j.over = true
	if j.hasRoom {
		t.active.leave()
	}
	t.step(ledger.JobEnded{Job: id})
	t.tidyOver(j)
	for _, answer := range j.waiting {
		if state == store.Cancelled {
			answer(nil)
		} else {
			answer(fmt.Errorf("job %s has ended before it could be cancelled: it is %s", id, state))
		}
	}
}

// tidyOver tidies up after a job of this leader, once its end is durable and no
// blob of it is on its way.
func (t *Term) tidyOver(j *activeJob) {
	if !j.over || j.unloading > 0 {
		return
	}
	// Of a job cut short, workers may have put partials there that nobody has told of.
	blobs := j.blobs || j.manifest.State != store.Completed
	t.spawn(func() func() {
		t.tidy(j.spec.ID, j.submission, blobs)
		return nil
	})
}

// tidy removes what reminds a leader of a job that has ended. If it does not get
// far, the next leader does it again. It is called from tasks.
func (t *Term) tidy(id string, submission *store.Submission, blobs bool) {
	steps := []func(ctx context.Context) error{
		func(ctx context.Context) error { return t.cfg.Store.Deactivate(ctx, id) },
	}
	if blobs {
		// Before the index forgets the job, or nobody would come back for them.
		steps = slices.Insert(steps, 0, func(ctx context.Context) error { return t.cfg.Store.DropPartials(ctx, id) })
	}
	if submission != nil {
		steps = append(steps, submission.Delete)
	}
	for _, step := range steps {
		if err := t.persist("tidy up", step); err != nil {
			if t.ctx.Err() == nil {
				t.log.Warn("Could not tidy up after a job", "job", id, "error", err)
			}
			return
		}
	}
}

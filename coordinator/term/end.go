package term

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// end makes a job's end durable: first the result, then the final manifest. After the final manifest, end
// removes the partials, the index entry and the submission.
func (t *Term) end(e ledger.EndJob) {
	j := t.active(e.Job)
	j.ending.Store(true)
	if e.Outcome != store.Completed {
		t.putEnd(j, e.Work, e.Outcome, e.Error, nil)
		return
	}
	result := t.partials.get(e.Result)
	t.spawn(func() func() {
		digest, err := t.storeResult(j, result)
		return func() {
			if err != nil {
				t.endWith(j, e.Work, err)
				return
			}
			t.putEnd(j, e.Work, store.Completed, "", func(m *store.Manifest) {
				m.SHA256 = digest
			})
		}
	})
}

// endWith ends a job whose result, or whose next state, could not be stored.
func (t *Term) endWith(j *activeJob, work store.Work, err error) {
	var fault *jobFault
	switch {
	case errors.Is(err, errNoRoom):
		t.putEnd(j, work, store.Cancelled, "", nil)
	case errors.As(err, &fault):
		t.putEnd(j, work, store.Failed, fault.Error(), nil)
	default:
		t.fail(err)
	}
}

// putEnd writes the final manifest of a job. The function complete, if not nil, completes it.
func (t *Term) putEnd(j *activeJob, work store.Work, outcome store.State, reason string, complete func(*store.Manifest)) {
	t.writeManifest(j, work, func(next *store.Manifest) error {
		next.State, next.Error, next.Finished = outcome, reason, t.env.Now().UTC()
		next.AddSample(next.Elapsed) // add the sample while the manifest still has its nodes
		next.Attempts, next.CrashSuspects, next.Calls = nil, nil, nil
		next.Nodes, next.Whole = inheritable(*next), nil
		if complete != nil {
			complete(next)
		}
		return nil
	}, func() { t.ended(j) })
}

// jobFault is an error that the job's code or data have caused. A jobFault fails the job.
type jobFault struct{ err error }

func (f *jobFault) Error() string { return f.err.Error() }

// storeResult writes the result that a worker's call of Finish returned, and returns the result's digest.
func (t *Term) storeResult(j *activeJob, result partial) (digest string, err error) {
	data, err := t.readPartial(j.id, result)
	if err != nil {
		return "", err
	}
	err = t.retry("write result", func(ctx context.Context) error {
		err := t.cfg.Store.PutResult(ctx, j.spec.ID, data)
		if errors.Is(err, store.ErrFull) && j.cancelled.Load() {
			return errNoRoom
		}
		return err
	})
	if errors.Is(err, store.ErrConflict) && j.spec.StopAfter > 0 { // the earlier leader had more time, and its end is not durable
		err = t.retry("write result", func(ctx context.Context) error { return t.cfg.Store.PutOtherResult(ctx, j.spec.ID, data) })
	}
	switch {
	case errors.Is(err, store.ErrConflict):
		return "", &jobFault{errors.New("an earlier leader has written a different result: the job is not deterministic")}
	case errors.Is(err, store.ErrTooLarge):
		return "", &jobFault{err}
	}
	sum := engine.Digest(data)
	return hex.EncodeToString(sum[:]), err
}

// errNoRoom means that storage had no space for a result or a state until the job was cancelled.
var errNoRoom = errors.New("job was cancelled while there was no room for its result or state")

// ended handles a job whose end is durable.
func (t *Term) ended(j *activeJob) {
	id, state := j.spec.ID, j.manifest.last.State
	t.log.Info("Job ended", "job", id, "state", state, "error", j.manifest.last.Error)
	t.endRecord(id)
	delete(t.jobs.active, id)
	j.ended = true
	t.jobs.cleaning[id] = nil
	if j.id != id {
		t.step(ledger.JobEnded{Job: j.id})
	}
	t.jobEnded(id)
	t.transport.Ended(id)
	t.cleanUpEnded(j)
	for _, answer := range j.cancels {
		if state == store.Cancelled {
			answer(nil)
		} else {
			answer(endedFirst(id, state))
		}
	}
}

// cleanUpEnded starts the clean-up of a job or round of this leader, if its end is durable and no task
// may still write blobs of the job.
func (t *Term) cleanUpEnded(j *activeJob) {
	if !j.ended || j.blobs.writers > 0 {
		return
	}
	if j.continued {
		if !j.manifest.last.Rounds.Last { // the clean-up of the job removes the blobs of the last round, because their removal could block the write of the result
			t.dropRound(j.id)
		}
		return
	}
	// Workers may have written blobs that they have never reported, unless the job completed.
	blobs := j.blobs.exist || j.manifest.last.State != store.Completed
	t.startCleanUp(j.spec.ID, j.submission, blobs)
}

// startCleanUp starts the clean-up of a job. If the job's submission is delivered again during the
// clean-up, the clean-up is repeated with the new delivery, because storage may refuse to delete a
// message through an old delivery.
func (t *Term) startCleanUp(id string, submission *store.Submission, blobs bool) {
	if _, delivered := t.jobs.cleaning[id]; !delivered {
		t.jobs.cleaning[id] = nil
	}
	t.spawn(func() func() {
		t.cleanUp(id, submission, blobs)
		return func() {
			later := t.jobs.cleaning[id]
			delete(t.jobs.cleaning, id)
			if later != nil {
				t.startCleanUp(id, later, blobs)
			}
		}
	})
}

// dropUnnamed removes the blobs of an ended job that its final manifest does not name. The state of a job with rounds is kept
// for jobs that continue from it.
func (t *Term) dropUnnamed(ctx context.Context, id string) error {
	m, _, err := t.cfg.Store.Manifest(ctx, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	keep := m.Blobs()
	if len(keep) == 0 {
		return t.cfg.Store.DropPartials(ctx, id)
	}
	return t.cfg.Store.DropOtherPartials(ctx, id, keep)
}

// cleanUp removes an ended job from the places where leaders look for jobs: the index and the
// queue. It removes the job's blobs first. If cleanUp fails, the next leader repeats it.
func (t *Term) cleanUp(id string, submission *store.Submission, blobs bool) {
	steps := []func(ctx context.Context) error{
		func(ctx context.Context) error { return t.cfg.Store.Deactivate(ctx, id) },
	}
	if blobs {
		// The blobs are removed first, because without the index entry no leader would find them.
		steps = slices.Insert(steps, 0, func(ctx context.Context) error { return t.dropUnnamed(ctx, id) })
	}
	if submission != nil {
		steps = append(steps, submission.Delete)
	}
	for _, step := range steps {
		if err := t.retry("clean up after job", step); err != nil {
			if t.ctx.Err() == nil {
				t.log.Warn("Could not clean up after a job", "job", id, "error", err)
			}
			return
		}
	}
}

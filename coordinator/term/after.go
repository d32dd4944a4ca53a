package term

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// This file handles jobs that run after other jobs, which Spec.After and Spec.From name. Such a job is loaded like any other, and
// is parked until the others have ended. It is loaded again when one of them ends, when its submission is delivered
// again, and by the next leader.

// beginAfter begins a job if the jobs in Spec.After have completed, and Spec.From has ended. If one of them has not completed and never will,
// the job fails. Otherwise the job is left queued.
func (t *Term) beginAfter(spec store.StoredSpec, previous store.Manifest, cond store.Condition) (loadedJob, error) {
	waits, failure, err := t.predecessors(spec.After)
	first := previous // the copy keeps fields that a newer program has written
	if err == nil && failure == "" && len(waits) == 0 {
		var wait bool
		if first.Rounds, wait, failure, err = t.firstRound(spec); wait {
			waits = []string{spec.From}
		}
	}
	switch {
	case err != nil:
		return loadedJob{}, err
	case failure != "":
		return t.failQueued(spec, previous, cond, failure)
	case len(waits) == 0:
		return t.begin(spec, first, cond)
	case cond.Absent(): // without a manifest, a submission that is delivered often would count as a job that crashes leaders
		err = t.putQueued(spec)
	}
	reason := "it runs after " + strings.Join(waits, ", ")
	return loadedJob{id: spec.ID, parked: parkedJob{kind: kindOf(spec.Spec), after: waits, reason: reason}}, err
}

// predecessors returns those of the given jobs that have not ended, or why one of them will never complete.
func (t *Term) predecessors(ids []string) (waits []string, failure string, err error) {
	for _, id := range ids {
		m, err := t.predecessor(id)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nil, fmt.Sprintf("job %s, after which this job runs, was removed", id), nil
		case err != nil && !errors.Is(err, store.ErrCorrupt):
			return nil, "", err
		case m.State == store.Failed:
			return nil, fmt.Sprintf("job %s, after which this job runs, failed: %s", id, m.Error), nil
		case m.State == store.Cancelled:
			return nil, fmt.Sprintf("job %s, after which this job runs, was cancelled", id), nil
		case m.State != store.Completed:
			waits = append(waits, id)
		}
	}
	return waits, "", nil
}

// predecessor returns the manifest of a job, or an empty one if no leader has begun the job. Since a single read that
// finds nothing is no proof, a job counts as removed only if it is still missing after goneAfter.
func (t *Term) predecessor(id string) (m store.Manifest, err error) {
	for again := false; ; again = true {
		m, _, err = t.readManifest(id)
		if !errors.Is(err, store.ErrNotFound) {
			return m, err
		}
		if _, err = t.readSpec(id); !errors.Is(err, store.ErrNotFound) || again {
			return store.Manifest{}, err
		}
		t.env.Pause(t.ctx, goneAfter)
	}
}

// failQueued writes the final manifest of a job that has not begun.
func (t *Term) failQueued(spec store.StoredSpec, previous store.Manifest, cond store.Condition, reason string) (loadedJob, error) {
	next := previous
	next.Epoch, next.Sequence, next.State = t.leadership.Epoch, previous.Sequence+1, store.Failed
	next.Error, next.Finished = reason, t.env.Now().UTC()
	next.SpecSHA256, next.SpecVersion = spec.SHA256, spec.Written
	if _, err := t.putInactive(spec, next, cond); err != nil {
		return loadedJob{}, fmt.Errorf("fail job: %w", err)
	}
	return loadedJob{id: spec.ID, ended: true, failure: reason}, nil
}

// jobEnded tells the ledger that a job has ended, and loads the jobs that run after it.
func (t *Term) jobEnded(id string) {
	t.step(ledger.JobEnded{Job: id})
	for _, next := range slices.Sorted(maps.Keys(t.jobs.parked)) {
		if slices.Contains(t.jobs.parked[next].after, id) {
			t.loadNext(next)
		}
	}
}

// loadNext loads a parked job that runs after others, while the limit on active jobs allows it. If the leader has not
// received the submission of the job, the job may be loaded later, when its submission is delivered.
func (t *Term) loadNext(id string) {
	p := t.jobs.parked[id]
	switch {
	case t.jobs.pending[id] != nil: // the job is parked again after this load, and then loaded if necessary
	case p.submission != nil:
		t.schedule(id, t.addPending(id, &pendingJob{submission: p.submission}))
	case t.mayBegin(-store.MaxPriority):
		t.admit(id, t.addPending(id, &pendingJob{}))
	}
}

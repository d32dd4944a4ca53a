package term

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// goneAfter is the time between two attempts to find a job in storage. If both attempts find
// nothing, the job counts as removed.
const goneAfter = time.Second

// confirmGone handles a job that load did not find in storage: after goneAfter it loads the job
// again. If the job is missing again, confirmGone deletes the job's remaining records and its
// submission. If a single read wrongly finds nothing, only the records with which this leader began
// the job are deleted, and the job begins again with its submission.
func (t *Term) confirmGone(id string, p *pendingJob) {
	submission := p.submission
	t.addPending(id, p)
	t.spawn(func() func() {
		t.env.Pause(t.ctx, goneAfter)
		loaded, err := t.load(id, submission)
		switch {
		case err == nil && loaded.queued: // the job was removed, and then a delayed write stored its spec again
			loaded = loadedJob{id: id, ended: true}
		case err == nil && loaded.gone:
			t.log.Warn("Job was removed, removing what is left of it", "job", id)
			err = t.retry("remove job", func(ctx context.Context) error { return t.cfg.Store.Remove(ctx, id) })
			loaded = loadedJob{id: id, ended: true}
		}
		if err != nil {
			return func() { t.fail(err) }
		}
		return func() { t.admitted(loaded) }
	})
}

// withoutSpec returns the state of a job that has no spec. Normally a spec is deleted only when an
// ended job is removed. A leader that does not know of the removal may then have written a first
// manifest. A later manifest than the first is written only if the spec still existed after the
// first manifest. If a job without a spec has a later manifest, its spec was lost in another way:
// the job is parked and keeps its records.
func (t *Term) withoutSpec(id string) (loadedJob, error) {
	manifest, _, err := t.readManifest(id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return loadedJob{id: id, gone: true}, nil
	case err != nil:
		return loadedJob{}, err
	case manifest.Sequence <= 1:
		return loadedJob{id: id, gone: true}, nil
	case manifest.State.Final():
		return loadedJob{id: id, ended: true}, nil
	}
	err = fmt.Errorf("%w: the spec is missing, and the job is %s", store.ErrCorrupt, manifest.State)
	return damagedJob(id, err), nil
}

// retract deletes the manifest and the plan that this leader has written after the job's removal.
func (t *Term) retract(id string) error {
	t.log.Warn("Job was removed while it was begun or cancelled, deleting what was written since", "job", id)
	return t.retry("retract job", func(ctx context.Context) error { return t.cfg.Store.Retract(ctx, id) })
}

// retractRemoved calls retract if err is errRemoved. It returns err, or the error of retract.
func (t *Term) retractRemoved(id string, err error) error {
	if errors.Is(err, errRemoved) {
		if failed := t.retract(id); failed != nil {
			return failed
		}
	}
	return err
}

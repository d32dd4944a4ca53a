package term

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// goneAfter is the time between two attempts to find a job. If both attempts fail, the
// job counts as removed.
const goneAfter = time.Second

// confirmGone loads a job again that load did not find in storage. If the job is missing
// again, confirmGone deletes the job's remaining records and its submission. If a single
// read wrongly finds nothing, confirmGone thus deletes only the records that this leader
// wrote to begin the job, and the submission begins the job again.
func (t *Term) confirmGone(id string, p *pendingJob) {
	submission := p.submission
	t.addPending(id, p)
	t.spawn(func() func() {
		t.env.Pause(t.ctx, goneAfter)
		loaded, err := t.load(id, submission)
		switch {
		case err == nil && loaded.queued: // a delayed write has stored the spec of the removed job again
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

// withoutSpec returns the state of a job that has no spec. Only the removal of an ended job
// deletes the spec. A leader that does not know of the removal may then have written a
// first manifest. Each later manifest is written only if the spec was there after the
// first one, so a job with a later manifest lost its spec in another way. Such a job is
// parked and keeps its records.
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

// retract deletes the manifest and the plan that this leader wrote for a job after the job
// was removed. Tasks call it.
func (t *Term) retract(id string) error {
	t.log.Warn("Job was removed while it was begun or cancelled, deleting what was written since", "job", id)
	return t.retry("retract job", func(ctx context.Context) error { return t.cfg.Store.Retract(ctx, id) })
}

// retractRemoved retracts the job if err is errRemoved. It returns err, or the error of the
// retraction. Tasks call it.
func (t *Term) retractRemoved(id string, err error) error {
	if errors.Is(err, errRemoved) {
		if failed := t.retract(id); failed != nil {
			return failed
		}
	}
	return err
}

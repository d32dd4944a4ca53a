package term

import (
	"context"
	"errors"
	"fmt"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// lookUp reads the state of a job that a worker reports and that this leader did not resume. The
// reported job has ended, or an earlier leader began it after this leader had listed the active
// jobs. If an earlier leader began the job, this leader loads the job, now or when the job's
// submission is delivered again. Until this leader loads the job, only the earlier leader may work
// on it.
func (t *Term) lookUp(reported string) {
	id := engine.JobOf(reported)
	if t.jobs.active[id] != nil { // the worker reports another round than the current one
		t.env.Post(func() { t.step(ledger.JobEnded{Job: reported}) })
		return
	}
	if p := t.jobs.pending[id]; p != nil {
		if p.waiting { // an earlier leader has begun the job
			t.stopWaiting(id)
			t.admit(id, p)
		}
		p.reported = true
		return // the task of the pending job will tell the ledger the job's state
	}
	t.addPending(id, &pendingJob{})
	t.spawn(func() func() {
		manifest, _, err := t.readManifest(id)
		loaded := loadedJob{id: id, ended: true}
		switch {
		case errors.Is(err, store.ErrNotFound): // the job was removed, or the storage was replaced
			if err := t.checkStorage(); err != nil {
				return func() { t.fail(err) }
			}
		case err == nil && manifest.State.Final():
		default:
			if loaded, err = t.load(id, nil); err != nil {
				return func() { t.fail(err) }
			}
			if loaded.queued { // the manifest was found before, so the job was removed in between
				loaded = loadedJob{id: id, ended: true}
			}
		}
		return func() { t.admitted(loaded) }
	})
}

// checkStorage returns an error if the storage's identity has changed since this process started.
// After a change of the storage, a job that is not found may not have ended.
func (t *Term) checkStorage() error {
	if t.cfg.Storage == "" {
		return nil
	}
	return t.retry("read the storage's identity", func(ctx context.Context) error {
		identity, err := t.cfg.Store.KnownIdentity(ctx)
		if err == nil && identity != t.cfg.Storage {
			err = fmt.Errorf("it is %s", identity)
		}
		if err != nil {
			err = fmt.Errorf("storage is no longer %s, which it was when this worker started; restart all workers: %w", t.cfg.Storage, err)
		}
		return err
	})
}

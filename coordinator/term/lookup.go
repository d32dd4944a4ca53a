package term

import (
	"errors"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// lookUp reads the state of a job that a worker reports and that this leader did not
// resume. Either the job has ended, or an earlier leader began the job after this leader
// had listed the active jobs. In the second case this leader loads the job here, or when
// the job's submission is delivered again. Until then only the earlier leader may work on
// the job.
func (t *Term) lookUp(id string) {
	if t.jobs.pending[id] != nil {
		return // the pending job's task will tell the ledger
	}
	p := t.addPending(id, &pendingJob{})
	t.spawn(func() func() {
		manifest, _, err := t.readManifest(id)
		loaded := loadedJob{id: id, ended: true}
		switch {
		case errors.Is(err, store.ErrNotFound): // the job was removed
		case err == nil && manifest.State.Final():
		default:
			if loaded, err = t.load(p.ctx, id); err != nil {
				return func() { t.fail(err) }
			}
		}
		return func() { t.admitted(loaded) }
	})
}

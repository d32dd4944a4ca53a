package term

import (
	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// maxParallel is the number of jobs that a new leader loads concurrently, and of submissions that
// the leader extends concurrently.
const maxParallel = 16

// resume fences and loads the jobs that were active before this term, and then begins dispatch.
// Until dispatch begins, the loop only queues reports and answers queries.
func (t *Term) resume() {
	t.spawn(func() func() {
		ids, err := retryRead(t, "list active jobs", t.cfg.Store.Active)
		if err != nil {
			return func() { t.fail(err) }
		}
		return func() { t.loadAll(ids) }
	})
}

// loadAll loads the active jobs and begins dispatch once all of them are loaded.
func (t *Term) loadAll(ids []string) {
	all := make([]loadedJob, len(ids))
	missing := len(ids)
	if missing == 0 {
		t.beginDispatch(all)
	}
	loads := &limiter{limit: maxParallel}
	for i, id := range ids {
		loads.acquire(func() {
			t.spawn(func() func() {
				loaded, err := t.load(id, nil)
				if err != nil {
					return func() { t.fail(err) }
				}
				if loaded.ended {
					t.cleanUp(id, nil, true)
				}
				return func() {
					all[i] = loaded
					loads.release()
					if missing--; missing == 0 {
						t.beginDispatch(all)
					}
				}
			})
		})
	}
}

// beginDispatch creates a ledger with the active jobs, after all of their manifests contain this
// leader's epoch. Submissions are received only when the ledger's recovery is over. Some workers
// are unknown during recovery, and a job that no known worker can run would be parked.
func (t *Term) beginDispatch(all []loadedJob) {
	cfg := t.cfg.Ledger
	cfg.Epoch, cfg.Self, cfg.Storage, cfg.Build = t.leadership.Epoch, t.cfg.Worker, t.cfg.Storage, wire.ThisBuild()
	cfg.Workers = t.leadership.Workers
	if c := t.leadership.Cause; c.Crashed() || c == election.Silent {
		cfg.Lost = t.leadership.Predecessor
	}
	l, err := ledger.New(cfg, t.since(t.times.begun))
	if err != nil {
		t.fail(err)
		return
	}
	t.ledger = l
	t.mark(&t.timeline.fenced)
	for _, loaded := range all {
		switch {
		case loaded.gone:
			t.confirmGone(loaded.id, &pendingJob{})
		case loaded.active != nil && t.mayActivate(loaded.active):
			t.activate(loaded.active, loaded.plan, loaded.found)
		default:
			t.leave(loaded, nil)
		}
	}
	t.processBacklog()
	t.times.extensions = t.env.Now()
}

package term

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// parkedJob is a job that cannot be worked on in this term.
type parkedJob struct {
	kind wire.JobKind // that this leader does not know; zero where the job cannot be read
	why  string
}

func (p parkedJob) damaged() bool { return p.kind == wire.JobKind{} }

// heir is a worker that may lead next, and of how many jobs it knows the kind.
type heir struct {
	id             string
	active, parked int
}

// successor chooses the worker that should lead next, or "" for any.
func (t *Term) successor() string {
	if t.ledger == nil {
		return ""
	}
	return t.heir().id
}

// heir chooses among the workers that speak and will stay: one that knows the
// kinds of most active jobs and, among those, of most parked ones.
func (t *Term) heir() (best heir) {
	for _, w := range t.ledger.Workers() {
		if w.ID == t.cfg.Worker || w.State != "idle" && w.State != "busy" {
			continue
		}
		h := heir{id: w.ID}
		for _, j := range t.jobs {
			if t.ledger.Knows(w.ID, wire.JobKind{Name: j.spec.Job, Version: j.spec.Version}) {
				h.active++
			}
		}
		for _, p := range t.parked {
			if t.ledger.Knows(w.ID, p.kind) {
				h.parked++
			}
		}
		if best.id == "" || h.active > best.active || h.active == best.active && h.parked > best.parked {
			best = h
		}
	}
	return best
}

// yieldAfter is how long a term lasts at least before its leader makes way: where
// the other turns out unable to lead, the two do not change places all the time.
const yieldAfter = 5 * time.Second

// yield makes way for a worker that knows the kinds of all active jobs and of a
// parked one. It will not give way in turn before that job has ended: this leader
// does not know its kind. So no two leaders yield to one another without end.
func (t *Term) yield() {
	if len(t.parked) == 0 || len(t.pending) > 0 || !t.leaving.IsZero() || t.since(t.began) < yieldAfter {
		return
	}
	if h := t.heir(); h.parked > 0 && h.active == len(t.jobs) {
		t.log.Info("Making way for a worker that knows jobs which this leader does not", "successor", h.id)
		t.Stop()
	}
}

package term

import (
	"time"
)

// candidate is a worker that may lead next, with the numbers of jobs whose kind the
// worker knows.
type candidate struct {
	id             string
	active, parked int
}

// successor returns the worker that should lead next, or "" for any.
func (t *Term) successor() string {
	if t.ledger == nil {
		return ""
	}
	return t.bestCandidate().id
}

// bestCandidate returns the worker that knows the kinds of most active jobs and, among
// equals, of most parked jobs. Workers that are silent or leaving are no candidates.
func (t *Term) bestCandidate() (best candidate) {
	for _, w := range t.ledger.Workers() {
		if w.ID == t.cfg.Worker || w.State != "idle" && w.State != "busy" {
			continue
		}
		c := candidate{id: w.ID}
		for _, j := range t.jobs.active {
			if t.ledger.Knows(w.ID, j.kind()) {
				c.active++
			}
		}
		for _, p := range t.jobs.parked {
			if t.ledger.Knows(w.ID, p.kind) {
				c.parked++
			}
		}
		if best.id == "" || c.active > best.active || c.active == best.active && c.parked > best.parked {
			best = c
		}
	}
	return best
}

// yieldAfter is the least time that a leader leads before it yields. If the successor
// cannot lead and hands over, this time keeps the two leaders from alternating without a
// pause.
const yieldAfter = 5 * time.Second

// yield stops the leader if a worker knows the kinds of all active jobs and of a parked
// job. That worker does not yield back before the parked job has ended, since this worker
// does not know the kind of that job. Therefore two leaders cannot yield to each other
// forever.
func (t *Term) yield() {
	if len(t.jobs.parked) == 0 || len(t.jobs.pending) > len(t.jobs.waiting) || !t.times.stopping.IsZero() || t.since(t.times.begun) < yieldAfter {
		return
	}
	if c := t.bestCandidate(); c.parked > 0 && c.active == len(t.jobs.active) {
		t.log.Info("Stepping down for a worker that knows jobs which this leader does not", "successor", c.id)
		t.Stop()
	}
}

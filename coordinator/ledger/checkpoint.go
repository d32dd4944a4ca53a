package ledger

import (
	"cmp"
	"maps"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// checkpoint asks for the checkpoints that are due. There is one at a time per
// job; what happens meanwhile goes into the next.
func (l *Ledger) checkpoint() {
	for _, j := range l.jobs {
		if j.ending || j.asked > j.acked || !j.dirty && j.wanted <= j.asked {
			continue
		}
		if j.wanted > j.asked || l.now-j.saved >= l.cfg.CheckpointEvery {
			j.dirty, j.saved = false, l.now
			j.asked++
			for _, c := range j.contributors {
				c.saving = c.received
			}
			l.do(Checkpoint{j.spec.ID, l.snapshot(j)})
		}
	}
}

// checkpointed: workers may forget what the checkpoint has, and the leader's own
// may be told of assignments that waited for it.
func (l *Ledger) checkpointed(j *job) {
	if j.asked == j.acked {
		return
	}
	j.acked = j.asked
	for _, c := range j.contributors {
		c.durable = max(c.durable, c.saving)
	}
	if w := l.worker(l.cfg.Self); w != nil && !l.stopping {
		if slices.ContainsFunc(w.held, func(h *held) bool { return h.job == j && !h.told && l.mayTell(h) }) {
			l.nudge(w)
		}
	}
}

// mustSave has the job checkpointed soon, and returns which checkpoint it will be.
func (l *Ledger) mustSave(j *job) uint64 {
	j.wanted = j.asked + 1
	return j.wanted
}

// mayTell reports whether a worker may know of an assignment. What might kill the
// leader must be in a checkpoint before it can, so that the next one knows.
func (l *Ledger) mayTell(h *held) bool { return h.job.acked >= h.save }

// Saved reports whether no job has anything left to checkpoint; after [Stopping],
// whether all that was there by then is durable.
func (l *Ledger) AllDurable() bool {
	return !slices.ContainsFunc(l.jobs, func(j *job) bool {
		return j.ending || j.acked < j.wanted || !l.stopping && (j.dirty || j.asked > j.acked)
	})
}

// snapshot is the job as a checkpoint keeps it.
func (l *Ledger) snapshot(j *job) Snapshot {
	s := Snapshot{Nodes: j.forest.nodes(), Executed: j.executed, Skipped: slices.Clone(j.skipped)}
	for _, id := range slices.Sorted(maps.Keys(j.contributors)) {
		s.Workers = append(s.Workers, store.Contributor{Worker: id, Through: j.contributors[id].received})
	}
	for _, a := range j.attempts.list {
		if a.Failed > 0 {
			s.Attempts = append(s.Attempts, a.Attempt)
		}
	}
	suspected := func(span jobs.Span, deaths, led int) {
		if deaths > 0 || led > 0 {
			s.Suspects = append(s.Suspects, store.Suspect{Span: span, Deaths: deaths, Led: led})
		}
	}
	for _, x := range j.suspects.list {
		suspected(x.span, x.deaths, 0)
	}
	for h := range j.held.all() {
		// What others hold is not lost with the leader. What its own process holds
		// may be what kills it: to the next leader that is a death more.
		if h.worker.id == l.cfg.Self && !l.stopping {
			suspected(h.span, h.deaths, h.deathsAfterOne())
		} else {
			suspected(h.span, h.deaths, 0)
		}
	}
	slices.SortFunc(s.Suspects, func(a, b store.Suspect) int {
		return cmp.Or(cmp.Compare(a.Span.Lo, b.Span.Lo), cmp.Compare(a.Deaths, b.Deaths), cmp.Compare(a.Led, b.Led))
	})
	return s
}

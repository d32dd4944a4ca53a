package ledger

import (
	"cmp"
	"maps"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// checkpoint asks for the checkpoints that are due.
func (l *Ledger) checkpoint() {
	for _, j := range l.jobs {
		urgent := l.stopping || slices.ContainsFunc(j.held, func(h *held) bool { return !h.told && !h.named })
		if j.dirty && !j.ending && j.saving == nil && (urgent || l.now-j.saved >= l.cfg.CheckpointEvery) {
			j.dirty, j.saved = false, l.now
			j.saving = maps.Clone(j.received)
			for _, h := range j.held {
				h.named = true
			}
			l.do(Checkpoint{j.spec.ID, l.snapshot(j)})
		}
	}
}

// checkpointed: workers may forget what the checkpoint has, and the leader's own
// may be told of assignments that waited for it.
func (l *Ledger) checkpointed(j *job) {
	if j.saving == nil {
		return
	}
	j.durable, j.saving = j.saving, nil
	for _, h := range j.held {
		h.saved = h.saved || h.named
		if h.saved && !h.told {
			l.nudge(h.worker)
		}
	}
}

// mustSaveFirst reports whether an assignment must be in a checkpoint before its
// worker begins it. If it kills the leader, the next one must know what did.
func (l *Ledger) mustSaveFirst(h *held) bool {
	return h.job.wary && h.worker.id == l.cfg.Self && !h.saved
}

// Saved reports whether no job has anything left to checkpoint.
func (l *Ledger) Saved() bool {
	return !slices.ContainsFunc(l.jobs, func(j *job) bool { return j.dirty || j.saving != nil || j.ending })
}

// snapshot is the job as a checkpoint keeps it.
func (l *Ledger) snapshot(j *job) Snapshot {
	s := Snapshot{Nodes: j.forest.nodes(), Executed: j.executed, Skipped: slices.Clone(j.skipped)}

	through := maps.Clone(j.received)
	for _, h := range j.held {
		through[h.worker.id] += 0 // a holder belongs to the roster even if it has reported nothing
	}
	for _, id := range sortedKeys(through) {
		s.Workers = append(s.Workers, store.Contributor{Worker: id, Through: through[id]})
	}

	maps.DeleteFunc(j.attempts, func(p uint64, _ *store.Attempt) bool {
		return !j.forest.anyMissing(jobs.Span{Lo: p, Hi: p + 1})
	})
	for _, a := range j.attempts {
		s.Attempts = append(s.Attempts, *a)
	}
	slices.SortFunc(s.Attempts, func(a, b store.Attempt) int { return cmp.Compare(a.Partition, b.Partition) })

	for _, q := range j.suspects {
		s.Suspects = append(s.Suspects, store.Suspect{Span: q.span, Deaths: q.deaths})
	}
	for _, h := range j.held {
		// What others hold is not lost with the leader. What its own process holds
		// may be what kills it: to the next leader that is a death more.
		if deaths := h.deaths; h.worker.id == l.cfg.Self && !l.stopping {
			s.Suspects = append(s.Suspects, store.Suspect{Span: h.span, Deaths: deaths + 1})
		} else if deaths > 0 {
			s.Suspects = append(s.Suspects, store.Suspect{Span: h.span, Deaths: deaths})
		}
	}
	slices.SortFunc(s.Suspects, func(a, b store.Suspect) int { return cmp.Compare(a.Span.Lo, b.Span.Lo) })
	return s
}

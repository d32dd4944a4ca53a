package ledger

import (
	"fmt"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// deathsAfterOne is how many deaths the assignment stands for if its worker dies.
// Only a partition that ran alone can be to blame by itself.
func (h *held) deathsAfterOne() int {
	if h.alone {
		return h.deaths + 1
	}
	return min(h.deaths+1, isolateAfter)
}

// blamed reports whether a partition has killed as many workers as it may.
func blamed(j *job, deaths int) bool {
	return deaths >= isolateAfter+max(1, min(j.spec.MaxAttempts, killsToBlame))
}

func killing(partition uint64, deaths int, last string) string {
	return fmt.Sprintf("partition %d kills its worker: %d died while they held it, the last was %s", partition, deaths, last)
}

// resumeSuspects takes over what an earlier leader suspected, and what its own
// worker held if it may have died of that.
func (l *Ledger) resumeSuspects(j *job, list []store.Suspect, leaderDied bool) {
	for _, s := range list {
		for _, gap := range j.forest.missing(s.Span) {
			deaths := s.Deaths
			if leaderDied {
				deaths = max(deaths, s.Led)
			}
			// What is in the list twice stands for the greater number.
			deaths = max(deaths, j.unplan(gap))
			if leaderDied && gap.Len() == 1 && blamed(j, deaths) {
				l.giveUp(j, gap.Lo, killing(gap.Lo, deaths, "an earlier leader"))
				continue
			}
			l.plan(j, gap, deaths)
		}
	}
}

// setAside reports whether a worker is to run isolated suspects and nothing else.
// As long as there are any, some workers do, but never so many that other work
// comes to a halt; the leader's own only if it is the only one.
func (l *Ledger) setAside(w *worker) bool {
	if w.isolates {
		return true
	}
	if l.isolated >= max(1, len(l.workers)/4) || l.suspectFor(w) == nil {
		return false
	}
	l.setIsolates(w, true)
	for _, h := range w.held {
		if !h.running {
			h.shorten(0, nil) // let others have what it has not begun
		}
	}
	return true
}

func (l *Ledger) setIsolates(w *worker, isolates bool) {
	if w.isolates == isolates {
		return
	}
	w.isolates = isolates
	if isolates {
		l.isolated++
	} else {
		l.isolated--
	}
}

// isolate gives a worker that was set aside its next suspect, once it holds
// nothing; if there is none, the worker goes back to the others.
func (l *Ledger) isolate(w *worker) {
	if slices.ContainsFunc(w.held, func(h *held) bool { return h.alone }) {
		return
	}
	j := l.suspectFor(w)
	if j == nil {
		l.setIsolates(w, false)
		return
	}
	if len(w.held) > 0 || w.foreign > 0 {
		return
	}
	s := j.suspects.list[j.suspects.first(true)]
	span := single(s.span.Lo)
	j.suspects.remove(span)
	l.note(j.spec.ID, w.id, "Partition %d runs alone: %d workers died while they held it", s.span.Lo, s.deaths)
	l.give(w, j, held{span: span, deaths: s.deaths, alone: true})
}

// suspectFor returns the first job with an isolated suspect that a worker may run.
func (l *Ledger) suspectFor(w *worker) *job {
	i := slices.IndexFunc(l.jobs, func(j *job) bool {
		return j.suspects.isolated > 0 && l.can(w, j) && !(w.id == l.cfg.Self && l.others(w, j))
	})
	if i < 0 {
		return nil
	}
	return l.jobs[i]
}

// takeSuspect takes the next piece of a suspect that need not run alone, for a
// worker; false if there is none for it.
func (l *Ledger) takeSuspect(w *worker, j *job) (h held, ok bool) {
	if !l.hasSuspect(w, j) {
		return held{}, false
	}
	s := j.suspects.list[j.suspects.first(false)]
	piece := jobs.Span{Lo: s.span.Lo, Hi: s.span.Lo + min(s.span.Len(), s.piece, l.size(w, j))}
	j.suspects.remove(piece)
	return held{span: piece, deaths: s.deaths}, true
}

func (l *Ledger) hasSuspect(w *worker, j *job) bool {
	return len(j.suspects.list) > j.suspects.isolated && !(w.id == l.cfg.Self && l.others(w, j))
}

package ledger

import (
	"slices"
	"time"
)

// speculateAfter is the shortest time for which a worker must have run a partition before another
// worker runs a speculative copy. It is also how long a small amount of work must have waited on a
// worker before another worker takes it.
const speculateAfter = 2 * time.Second

// steal finds work for a worker with idle slots when the queues have no work for it. It cuts the
// longest assignments of other workers in half and gives the second halves to the worker. If no
// more assignments can be cut, steal assigns speculative copies of stragglers to the worker.
func (l *Ledger) steal(w *worker) {
	idle := w.idleSlots() - w.pendingSteals
	if idle <= 0 || w.probes() {
		return
	}
	for _, a := range l.longest(w, idle) {
		at := a.span.Lo
		if a.state == stateRunning {
			left, _ := l.remaining(a)
			at = a.span.Hi - max(1, uint64(left/2))
			if a.job.large {
				at = mostAligned(a.span.Hi-max(1, uint64(left*3/4)), at+1)
			}
		}
		a.cutAt(at, w)
		if a.worker != w { // a cut of w's own assignment is sent with the current receipt
			l.nudge(a.worker)
		}
		idle--
	}
	for ; idle > 0; idle-- {
		a := l.straggler(w)
		if a == nil {
			return
		}
		l.assign(w, a.job, l.speculate(w, a))
	}
}

// speculate returns a speculative copy of a straggler for a worker.
func (l *Ledger) speculate(w *worker, a *assignment) assignment {
	l.log(a.job.spec.ID, w.id, "Partition %d is late on worker %s and runs here too", a.span.Lo, a.worker.id)
	return assignment{span: a.span, deaths: a.deaths, duplicate: a}
}

// longest returns up to n assignments that can be cut for a worker. It considers only jobs of the
// highest priority that has such assignments, and returns the assignments with the longest
// remaining time.
func (l *Ledger) longest(w *worker, n int) []*assignment {
	var found []candidate
	for _, j := range l.jobs {
		if len(found) > 0 && j.spec.Priority < found[0].assignment.job.spec.Priority {
			break
		}
		if !l.canRun(w, j) || l.heldBack(w, j) {
			continue
		}
		before := len(found)
		for _, c := range l.stealable(j).long {
			if len(found) == before+n {
				break
			}
			waitsHere := c.assignment.state == stateConfirmed && c.assignment.worker == w // an idle slot of w will start it
			if !waitsHere && c.assignment.canBeCut() {
				found = append(found, c)
			}
		}
	}
	slices.SortStableFunc(found, compareLeft)
	var list []*assignment
	for _, c := range found[:min(n, len(found))] {
		list = append(list, c.assignment)
	}
	return list
}

// straggler returns a running assignment of which w should run a speculative copy, or nil.
func (l *Ledger) straggler(w *worker) *assignment {
	for _, j := range l.jobs {
		if !l.canRun(w, j) {
			continue
		}
		for _, a := range l.stealable(j).late {
			if a.span.Len() == 1 && l.isLate(w, a) {
				return a
			}
		}
	}
	return nil
}

// isLate reports whether a worker may run a speculative copy of a span of another worker, because the first partition of
// the span is overdue.
func (l *Ledger) isLate(w *worker, a *assignment) bool {
	return a.worker != w && a.duplicate == nil && a.deaths == 0 && l.isOverdue(a) && a.job.anyMissing(a.span)
}

// isOverdue reports whether the first partition of a running span takes far longer than other partitions of its job.
func (l *Ledger) isOverdue(a *assignment) bool {
	perSecond := a.job.perSecond()
	return a.call == nil && a.state == stateRunning && perSecond > 0 && l.now-a.progressAt > max(speculateAfter, 3*duration(1/perSecond))
}

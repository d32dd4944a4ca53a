package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// deathsAfterOne returns the number of deaths that count against an assignment if its
// worker dies. Above quarantineAfter, deaths count only against a partition that ran
// alone, because nothing else can have killed its worker.
func (a *assignment) deathsAfterOne() int {
	if a.quarantined {
		return a.deaths + 1
	}
	return min(a.deaths+1, quarantineAfter)
}

// blamed reports whether a partition has killed as many workers as it may.
func blamed(j *job, deaths int) bool {
	return deaths >= quarantineAfter+max(1, min(j.spec.MaxAttempts, killsToBlame))
}

// blame returns the reason for giving up a partition that kills its workers.
func blame(partition uint64, deaths int, lastWorker string) string {
	return fmt.Sprintf("partition %d kills its worker: %d died while it was assigned to them, the last was %s", partition, deaths, lastWorker)
}

// resumeSuspects queues the crash suspects of a manifest. If the last leader died, the
// crash suspects include the assignments of that leader's own worker.
func (l *Ledger) resumeSuspects(j *job, list []store.CrashSuspect, leaderDied bool) {
	for _, s := range list {
		for _, gap := range j.forest.missing(s.Span) {
			deaths := s.Deaths
			if leaderDied {
				deaths = max(deaths, s.Led)
			}
			deaths = max(deaths, j.queue.remove(gap)) // if spans of the list overlap, the higher number counts
			if leaderDied && gap.Len() == 1 && blamed(j, deaths) {
				l.giveUp(j, gap.Lo, blame(gap.Lo, deaths, "an earlier leader"))
				continue
			}
			l.enqueue(j, gap, deaths)
			j.deadly = j.deadly || deaths > 0
		}
	}
}

// reserve reports whether a worker is reserved for quarantined partitions and calls. It
// reserves the worker if one of them is queued and mayReserve returns true. The leader's own
// worker is reserved only if no other worker can run the partition or call.
func (l *Ledger) reserve(w *worker) bool {
	if w.reserved {
		return true
	}
	if !l.mayReserve() || l.quarantinedFor(w) == nil {
		return false
	}
	l.setReserved(w, true)
	for _, a := range w.assignments {
		if a.state != stateRunning {
			a.cutAt(0, nil) // other workers can have the partitions that w has not started
		}
	}
	return true
}

// mayReserve reports whether one more worker may be reserved. At most a quarter of the
// workers are reserved, so that other work continues.
func (l *Ledger) mayReserve() bool { return l.reserved < max(1, len(l.workers)/4) }

func (l *Ledger) setReserved(w *worker, reserved bool) {
	if w.reserved == reserved {
		return
	}
	w.reserved = reserved
	if reserved {
		l.reserved++
	} else {
		l.reserved--
	}
}

// assignQuarantined gives a reserved worker its next quarantined call or partition once
// the worker has no assignment. If none is queued, the worker is no longer reserved.
func (l *Ledger) assignQuarantined(w *worker) {
	if slices.ContainsFunc(w.assignments, func(a *assignment) bool { return a.quarantined }) {
		return
	}
	j := l.quarantinedFor(w)
	if j == nil {
		l.setReserved(w, false)
		return
	}
	if !w.holdsNothing() || w.id == l.cfg.Self && !l.settled() {
		return
	}
	if c := l.quarantinedCall(w, j); c != nil {
		l.log(j.spec.ID, w.id, "%v runs alone, workers that died while it was assigned to them: %d", c, c.deaths)
		l.assign(w, j, assignment{call: c, quarantined: true})
		return
	}
	suspects := &j.queue.suspects
	s := suspects.list[suspects.first(true)]
	span := single(s.span.Lo)
	suspects.remove(span)
	l.log(j.spec.ID, w.id, "Partition %d runs alone: %d workers died while it was assigned to them", s.span.Lo, s.deaths)
	l.assign(w, j, assignment{span: span, deaths: s.deaths, quarantined: true})
}

// survived is how long a worker must have run a partition of a job to show that the job does
// not kill every worker that begins to run it. A report must say so: a process that overflows
// its stack is silent for seconds before it ends.
const survived = 2 * time.Second

// awaitsSurvivor reports whether a worker gets no partitions of a job that has killed workers
// and has finished no partition. Perhaps every worker that opens the job dies, so only one
// worker at a time has partitions of such a job, until one has survived.
func (l *Ledger) awaitsSurvivor(w *worker, j *job) bool {
	if !j.deadly || j.forest.done() > 0 {
		return false
	}
	wait := j.queue.suspects.quarantined > 0
	for a := range j.assignments.all() {
		if a.call != nil {
			continue
		}
		if a.state == stateRunning && a.worker.spansReportedAt-a.progressAt >= survived {
			return false
		}
		wait = wait || a.worker != w
	}
	return wait
}

// settled reports whether every manifest says what this leader's worker still runs. If the
// next quarantined partition kills this process, a manifest that still names an earlier one
// would blame an innocent.
func (l *Ledger) settled() bool {
	return !slices.ContainsFunc(l.jobs, func(j *job) bool {
		c := &j.checkpoint
		return j.ending() || c.inFlight() || c.durable < c.wanted
	})
}

// quarantinedFor returns the first job with a quarantined partition or call for a worker,
// or nil.
func (l *Ledger) quarantinedFor(w *worker) *job {
	i := slices.IndexFunc(l.jobs, func(j *job) bool {
		return (j.queue.suspects.quarantined > 0 || l.quarantinedCall(w, j) != nil) && l.canRun(w, j) && !l.sparesLeader(w, j)
	})
	if i < 0 {
		return nil
	}
	return l.jobs[i]
}

// takeSuspect removes from a job's queue the next piece of a crash suspect that is not
// quarantined. It returns false if no such piece can go to the worker.
func (l *Ledger) takeSuspect(w *worker, j *job) (a assignment, ok bool) {
	if !l.hasSuspect(w, j) {
		return assignment{}, false
	}
	suspects := &j.queue.suspects
	s := suspects.list[suspects.first(false)]
	piece := jobs.Span{Lo: s.span.Lo, Hi: s.span.Lo + min(s.span.Len(), s.piece, l.pieceSize(w, j))}
	suspects.remove(piece)
	return assignment{span: piece, deaths: s.deaths}, true
}

// hasSuspect reports whether a job has a crash suspect, not quarantined, that a worker
// can be given.
func (l *Ledger) hasSuspect(w *worker, j *job) bool {
	return len(j.queue.suspects.list) > j.queue.suspects.quarantined && !l.sparesLeader(w, j)
}

// sparesLeader reports whether a worker gets no crash suspects of a job because the
// worker is the leader's own and another worker can run them.
func (l *Ledger) sparesLeader(w *worker, j *job) bool {
	return w.id == l.cfg.Self && l.anotherCanRun(w, j)
}

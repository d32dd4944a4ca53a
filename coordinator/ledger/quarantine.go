package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// deathsAfterOne returns the assignment's number of deaths if its worker died now. After
// quarantineAfter deaths of a partition, further deaths count only if the partition ran alone,
// because only then the partition must be the cause.
func (a *assignment) deathsAfterOne() int {
	if a.quarantined {
		return a.deaths + 1
	}
	return max(a.deaths, min(a.deaths+1, quarantineAfter))
}

// blamed reports whether a partition must be the cause of the deaths of its workers.
func (l *Ledger) blamed(j *job, partition uint64, deaths int) bool {
	return l.kills(j, fmt.Sprintf("partition %d", partition), deaths-quarantineAfter, j.alone[partition])
}

// ranAlone adds the time of an attempt to the time for which a quarantined partition has run on workers
// that died.
func (j *job) ranAlone(partition uint64, d time.Duration) {
	if j.alone == nil {
		j.alone = map[uint64]time.Duration{}
	}
	j.alone[partition] += d
}

// blame returns the error for a partition that kills its workers. The parameter function is the
// job's function that was running when the last worker died; it is empty if unknown.
func blame(partition uint64, function string, deaths int, lastWorker string) string {
	if function != "" {
		function = " in " + function
	}
	return fmt.Sprintf("partition %d kills its worker%s: %d died while it ran alone, the last was %s", partition, function, deaths-quarantineAfter, lastWorker)
}

// lastSeen names a worker that died, with the memory that it used when it last reported. The ledger does not know
// why a worker died, and systems kill processes that use too much memory.
func (w *worker) lastSeen() string {
	used := w.usage.Memory >> 20
	switch {
	case used == 0:
		return w.id
	case used < muchMemory:
		return fmt.Sprintf("%s, which used %d MiB of memory when it last reported", w.id, used)
	}
	return fmt.Sprintf("%s, which used %d MiB of memory when it last reported: if it was killed for memory, "+
		"give workers more memory or fewer slots, or the job smaller partitions", w.id, used)
}

// muchMemory is the memory in MiB of a process above which a kill for memory is likely enough to be mentioned.
const muchMemory = 256

// resumeSuspects queues the crash suspects of a manifest. If the last leader died, the assignments
// of that leader's own worker are crash suspects too.
func (l *Ledger) resumeSuspects(j *job, list []store.CrashSuspect, leaderDied bool) {
	for _, s := range list {
		for _, gap := range j.forest.missing(s.Span) {
			deaths := s.Deaths
			if leaderDied {
				deaths = max(deaths, s.Led)
			}
			deaths = max(deaths, j.queue.remove(gap)) // if spans in the list overlap, the highest number of deaths counts
			if s.Alone > 0 && gap.Len() == 1 {
				j.ranAlone(gap.Lo, s.Alone-j.alone[gap.Lo])
			}
			if leaderDied && gap.Len() == 1 && l.blamed(j, gap.Lo, deaths) {
				l.deaths.forget(j)
				l.giveUp(j, gap.Lo, blame(gap.Lo, "", deaths, "an earlier leader"))
				continue
			}
			l.enqueue(j, gap, deaths)
		}
	}
	j.isolateSuspect()
}

// reserve reports whether a worker is reserved for quarantined partitions and calls. It first
// reserves the worker if a quarantined partition or call is queued and mayReserve returns true. The
// leader's own worker is reserved only if no other worker can run the quarantined partition or
// call. A worker with a call that does not return is not reserved.
func (l *Ledger) reserve(w *worker) bool {
	if l.hanging(w) > 0 { // all other work would wait for the end of the call
		l.setReserved(w, false)
		return false
	}
	if w.reserved {
		return true
	}
	if !l.mayReserve(w) || l.quarantinedFor(w) == nil {
		return false
	}
	l.setReserved(w, true)
	for _, a := range w.assignments {
		if a.state != stateRunning {
			a.cutAt(0, nil) // other workers can run the partitions that w has not started
		}
	}
	return true
}

// mayReserve reports whether a worker may be reserved. At most a quarter of the workers are reserved, so
// that other work continues. If no other work is queued for an idle worker, half of the workers may be
// reserved. The other half survives, even if all quarantined work kills its workers. Workers whose
// quarantined work takes long do not count, because other quarantined work would wait for a call that
// does not return.
func (l *Ledger) mayReserve(w *worker) bool {
	reserved := l.reserved
	if reserved > 0 {
		for _, o := range l.workers {
			if l.takesLong(o) {
				reserved--
			}
		}
	}
	if reserved < max(1, len(l.workers)/4) {
		return true
	}
	return reserved < len(l.workers)/2 && w.holdsNothing() && !slices.ContainsFunc(l.jobs, func(j *job) bool {
		return l.hasWork(w, j) || j.calls.any(l.mayAssign)
	})
}

// takesLong reports whether a reserved worker has run the same quarantined partition or call for a long time.
func (l *Ledger) takesLong(w *worker) bool {
	return w.reserved && slices.ContainsFunc(w.assignments, func(a *assignment) bool {
		return a.quarantined && a.state == stateRunning && l.now-a.progressAt > hungAfter
	})
}

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

// assignQuarantined assigns the next quarantined call or partition to a reserved worker that has no
// assignment. If no quarantined call or partition is queued, assignQuarantined ends the worker's
// reservation.
func (l *Ledger) assignQuarantined(w *worker) {
	if slices.ContainsFunc(w.assignments, func(a *assignment) bool { return a.quarantined }) {
		return
	}
	j := l.quarantinedFor(w)
	if j == nil {
		l.setReserved(w, false)
		return
	}
	if !w.holdsNothing() || w.id == l.cfg.Self && !l.dangersDurable() {
		return
	}
	if c := l.quarantinedCall(w, j); c != nil {
		l.log(j.spec.ID, w.id, "%v runs alone, workers that died while it was assigned to them: %d", c, c.deaths)
		l.assign(w, j, assignment{call: c, quarantined: true})
		return
	}
	suspects := &j.queue.suspects
	s := suspects.list[suspects.firstQuarantined()]
	span := single(s.span.Lo)
	suspects.remove(span)
	l.log(j.spec.ID, w.id, "Partition %d runs alone, workers that died while it ran alone: %d", s.span.Lo, s.deaths-quarantineAfter)
	l.assign(w, j, assignment{span: span, deaths: s.deaths, quarantined: true})
}

// dangersDurable reports whether the durable manifest of every job lists the work that may kill this
// leader's process. Otherwise, if a quarantined partition killed this process, an earlier partition
// that the manifest still lists would be blamed wrongly.
func (l *Ledger) dangersDurable() bool {
	return !slices.ContainsFunc(l.jobs, func(j *job) bool {
		c := &j.checkpoint
		return j.ending() || c.inFlight() || c.durable < c.wanted
	})
}

// quarantinedFor returns the first job with a quarantined partition or call that a worker can run,
// or nil. For some time after a worker's death the leader's own worker gets no quarantined work,
// because a supervisor may restart the worker that died. After that it gets what no other worker can
// run soon.
func (l *Ledger) quarantinedFor(w *worker) *job {
	i := slices.IndexFunc(l.jobs, func(j *job) bool {
		if w.id == l.cfg.Self && l.now < j.leaderExemptUntil {
			return false
		}
		c := l.quarantinedCall(w, j)
		if c == nil && j.queue.suspects.quarantined == 0 || !l.canRun(w, j) {
			return false
		}
		another := func(o *worker) bool {
			return o != w && l.canRun(o, j) && !l.takesLong(o) && (c == nil || o.fetches(j, c))
		}
		return w.id != l.cfg.Self || !slices.ContainsFunc(l.workers, another)
	})
	if i < 0 {
		return nil
	}
	return l.jobs[i]
}

// takeSuspect removes a piece of a crash suspect that is not quarantined from a job's queue. It
// returns false if no piece can be assigned to the worker.
func (l *Ledger) takeSuspect(w *worker, j *job) (a assignment, ok bool) {
	if !l.hasSuspect(w, j) {
		return assignment{}, false
	}
	suspects := &j.queue.suspects
	s := suspects.list[suspects.first()]
	gap := s.span
	if j.large {
		gap = l.gapFor(w, j, suspects.spans(false), 1)
		s = suspects.list[suspects.search(gap.Lo)]
	}
	piece := engine.Span{Lo: gap.Lo, Hi: gap.Lo + min(gap.Len(), s.piece, l.pieceSize(w, j))}
	suspects.remove(piece)
	w.share(j).next = piece.Hi
	return assignment{span: piece, deaths: s.deaths}, true
}

// hasSuspect reports whether a job has a crash suspect that is not quarantined and that may be
// assigned to a worker.
func (l *Ledger) hasSuspect(w *worker, j *job) bool {
	return len(j.queue.suspects.list) > j.queue.suspects.quarantined && !l.exemptsLeader(w, j)
}

// exemptsLeader reports whether a worker gets no crash suspects of a job because it is the leader's
// own and another worker can run them.
func (l *Ledger) exemptsLeader(w *worker, j *job) bool {
	return w.id == l.cfg.Self && l.anotherCanRun(w, j)
}

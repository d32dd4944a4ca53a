package ledger

import (
	"math"
	"slices"
	"time"
)

const (
	// trialWorkers is the number of workers that get partitions of a new job first. With two trial
	// workers, a job that kills its workers kills five: the two trial workers and killsToBlame
	// workers in quarantine.
	trialWorkers = 2
	// After a worker has opened the job, the number of trial workers doubles every trialStep up to
	// maxTrialWorkers, and then all workers may run the job. The slow start limits how many workers
	// die if the job's Map kills its worker at once.
	trialStep       = 100 * time.Millisecond
	maxTrialWorkers = 16
	// survived is how long a reported partition must have run to end its job's trial. Time without
	// a report does not count towards survived, because a process that overflows its stack is
	// silent for seconds before it ends.
	survived = 2 * time.Second
)

// trial is the state of a job's trial, which ends when a partition is finished or has run for the
// time survived. A trial limits the number of workers that begin a job, because each of them may
// die.
type trial struct {
	over     bool
	opened   bool // a worker has opened the job, because a report listed a running span
	openedAt time.Duration
	isolated int // number of assigned quarantined partitions
}

// ranFor handles a report that lists a span of a job as running.
func (l *Ledger) ranFor(j *job, d time.Duration) {
	t := &j.trial
	if !t.opened {
		t.opened, t.openedAt = true, l.now
	}
	if d >= survived {
		l.endTrial(j)
	}
}

// followTrials nudges the workers that run the first assignments of jobs on trial. Other workers may wait for the end of
// the trial, and in a large cluster the time between two reports is many seconds. The longer an assignment has made no
// progress, the rarer are the nudges. Their number per tick is bounded, because many jobs may be on trial.
func (l *Ledger) followTrials() {
	nudges := 0
	for _, j := range l.jobs {
		if j.trial.over || j.ending() {
			continue
		}
		var last *worker
		first := 0
		for a := range j.assignments.all() {
			w := a.worker
			if w != last {
				if first++; first > maxTrialWorkers {
					break
				}
				last = w
			}
			wait := max(trialStep, (l.now-a.progressAt)/8)
			if a.call != nil || a.state < stateSent || w.reportInterval <= wait || l.now-w.reportedAt < wait || !l.nudge(w) {
				continue
			}
			if nudges++; nudges == maxTrialWorkers {
				return
			}
		}
	}
}

// endTrial ends a job's trial, so that all workers may get partitions of the job.
func (l *Ledger) endTrial(j *job) {
	l.queueGrew = l.queueGrew || !j.trial.over
	j.trial.over = true
}

// heldBack reports whether the job's trial keeps a worker from getting partitions of the job. The
// leader's own worker is the last to get partitions during a trial, unless all others run quarantined work that takes long.
func (l *Ledger) heldBack(w *worker, j *job) bool {
	switch {
	case j.trial.over:
		return false
	case j.isolates():
		return true
	case slices.ContainsFunc(w.assignments, func(a *assignment) bool { return a.job == j && a.call == nil }):
		return false
	}
	limit := l.trialLimit(j)
	another := func(o *worker) bool {
		return o != w && !o.draining && o.slots > 0 && o.knows(j) && !l.takesLong(o)
	}
	if w.id == l.cfg.Self && (!j.trial.opened || limit < len(l.workers)) && slices.ContainsFunc(l.workers, another) {
		return true
	}
	if limit > maxTrialWorkers {
		return false
	}
	var begun []*worker
	for a := range j.assignments.all() {
		if a.call == nil && !slices.Contains(begun, a.worker) {
			begun = append(begun, a.worker)
		}
		if len(begun) >= limit {
			return true
		}
	}
	return false
}

// trialLimit returns how many workers may have begun a job. Above maxTrialWorkers it does not limit them.
func (l *Ledger) trialLimit(j *job) int {
	switch {
	case j.trial.over:
		return math.MaxInt
	case j.trial.opened:
		return trialWorkers << min(8, (l.now-j.trial.openedAt)/trialStep)
	}
	return trialWorkers
}

// isolates reports whether a partition of the job is quarantined.
func (j *job) isolates() bool { return j.queue.suspects.quarantined+j.trial.isolated > 0 }

// isolateSuspect quarantines one partition of a job that has a crash suspect during its trial. If
// the quarantined partition also kills its worker, although nothing else runs there, the job
// probably kills every worker.
func (j *job) isolateSuspect() {
	s := &j.queue.suspects
	if !j.trial.over && len(s.list) > 0 && !j.isolates() {
		partition := single(s.list[0].span.Lo)
		s.add(partition, max(quarantineAfter, s.remove(partition)))
	}
}

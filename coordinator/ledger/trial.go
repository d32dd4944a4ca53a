package ledger

import (
	"slices"
	"time"
)

const (
	// trialWorkers is how many workers begin a job. If all of them die, and then each worker
	// that runs a partition alone, killsToBlame more, five workers die.
	trialWorkers = 2
	// trialStep is the time in which the number of workers doubles once a worker has opened
	// the job, up to maxTrialWorkers, and then to all workers. A Map that kills its worker at
	// once kills few.
	trialStep       = 100 * time.Millisecond
	maxTrialWorkers = 16
	// survived is how long a partition must have run to end its job's trial. A report must say
	// so: a process that overflows its stack is silent for seconds before it ends.
	survived = 2 * time.Second
)

// trial is the beginning of a job. It ends when a partition is finished or has run for a
// while. Perhaps each worker that begins the job dies, so few begin it at once.
type trial struct {
	over     bool
	opened   bool // a worker has opened the job: a report listed a running span
	openedAt time.Duration
	isolated int // assignments of quarantined partitions
}

// ranFor records that a report listed a span of a job as running.
func (l *Ledger) ranFor(j *job, d time.Duration) {
	t := &j.trial
	if !t.opened {
		t.opened, t.openedAt = true, l.now
	}
	if d >= survived {
		l.endTrial(j)
	}
}

// endTrial gives a job to all workers.
func (l *Ledger) endTrial(j *job) {
	l.queueGrew = l.queueGrew || !j.trial.over
	j.trial.over = true
}

// heldBack reports whether a worker gets no partitions of a job now because the job is on
// trial. The leader's own worker is the last worker to get partitions of a job on trial.
func (l *Ledger) heldBack(w *worker, j *job) bool {
	switch {
	case j.trial.over:
		return false
	case j.isolates():
		return true
	case slices.ContainsFunc(w.assignments, func(a *assignment) bool { return a.job == j && a.call == nil }):
		return false
	}
	limit := trialWorkers
	if j.trial.opened {
		limit <<= min(8, (l.now-j.trial.openedAt)/trialStep)
	}
	another := func(o *worker) bool { return o != w && !o.draining && o.slots > 0 && o.knows(j) }
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

// isolates reports whether a partition of the job is quarantined.
func (j *job) isolates() bool { return j.queue.suspects.quarantined+j.trial.isolated > 0 }

// isolateSuspect quarantines a partition of a job on trial, if the job has a crash suspect. If
// that partition kills its worker too, although nothing else runs there, the job kills every
// worker.
func (j *job) isolateSuspect() {
	s := &j.queue.suspects
	if !j.trial.over && len(s.list) > 0 && !j.isolates() {
		partition := single(s.list[0].span.Lo)
		s.add(partition, max(quarantineAfter, s.remove(partition)))
	}
}

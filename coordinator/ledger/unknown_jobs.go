package ledger

import (
	"maps"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// unknownJobs records the state of jobs that appear in reports but not in the ledger. The ledger
// must be certain that a job has ended before it tells a worker, because the worker then drops the
// job's items and spans.
type unknownJobs struct {
	parked     map[string]bool
	lookups    map[string]bool // IDs of the jobs with a [LookUpJob] in flight
	ended      map[string]bool // IDs of the last maxEnded jobs that ended
	endedOrder []string        // IDs of the ended jobs, oldest first
}

const (
	maxLookups = 100  // maximum number of concurrent lookups; further jobs are looked up after a later report
	maxEnded   = 4096 // number of ended jobs that are remembered; older jobs are looked up again
)

func newUnknownJobs() unknownJobs {
	return unknownJobs{parked: map[string]bool{}, lookups: map[string]bool{}, ended: map[string]bool{}}
}

// markKnown removes a job from unknownJobs, because the ledger has the job now, or a round of it.
func (u *unknownJobs) markKnown(job string) {
	delete(u.parked, engine.JobOf(job))
	u.endLookups(job)
}

// markParked records that this leader cannot work on a job.
func (u *unknownJobs) markParked(job string) {
	u.endLookups(job)
	u.parked[job] = true
}

// endLookups ends the lookups of a job and of its rounds.
func (u *unknownJobs) endLookups(job string) {
	maps.DeleteFunc(u.lookups, func(id string, _ bool) bool { return engine.JobOf(id) == engine.JobOf(job) })
}

// hasEnded reports whether a job is known to have ended, or a round.
func (u *unknownJobs) hasEnded(id string) bool { return u.ended[id] || u.ended[engine.JobOf(id)] }

// Ended reports whether a job is known to have ended. It remembers only the 4,096 jobs that ended
// last in this term.
func (l *Ledger) Ended(job string) bool { return l.unknownJobs.ended[job] }

// markEnded records that a job has ended.
func (u *unknownJobs) markEnded(job string) {
	u.markKnown(job)
	if u.ended[job] {
		return
	}
	u.ended[job] = true
	u.endedOrder = append(u.endedOrder, job)
	if len(u.endedOrder) > maxEnded {
		delete(u.ended, u.endedOrder[0])
		u.endedOrder = slices.Delete(u.endedOrder, 0, 1)
	}
}

// onUnknownJob handles an unknown job that a worker reports. The parameter lastItem is the number
// of the last reported item, or 0 if there are no items. Items of a parked job are acknowledged, so
// the worker stops resending them to this leader; if the job is added after all, the worker must start
// over. Items of a job that may still be added are not acknowledged, so the worker resends them.
func (l *Ledger) onUnknownJob(w *worker, job string, lastItem uint64) {
	if l.unknownJobs.hasEnded(job) {
		l.sendEnded(w, job)
		return
	}
	if !slices.Contains(w.unknownJobs, job) {
		w.unknownJobs = append(w.unknownJobs, job)
	}
	if lastItem > 0 && l.isParked(w, job) {
		w.receipt.Jobs = append(w.receipt.Jobs, wire.JobReceipt{Job: job, Received: lastItem})
		if !slices.Contains(w.unkept, job) {
			w.unkept = append(w.unkept, job)
		}
	}
}

// collectUnkept lets the workers start over that have reported items of a job before it was added. During recovery the
// ledger waits for these items.
func (l *Ledger) collectUnkept(job string) {
	for _, w := range l.workers {
		if slices.Contains(w.unkept, job) {
			w.startsOver = true
			l.recovery.await(w.id)
			l.nudge(w)
		}
	}
}

// isParked reports whether an unknown job of a worker is not looked up, because this leader cannot
// work on it.
//
// A worker without a storage identity in its hello may use another storage and hold a job of that
// storage. The leader would not find such a job in its own storage and would wrongly conclude that
// the job had ended. The ledger therefore treats unknown jobs of such a worker as parked.
func (l *Ledger) isParked(w *worker, job string) bool {
	return l.unknownJobs.parked[engine.JobOf(job)] || l.cfg.Storage != "" && w.hello.Storage != l.cfg.Storage
}

// checkUnknownJobs tells a worker which of the unknown jobs in its reports have ended, and looks up
// the others.
func (l *Ledger) checkUnknownJobs(w *worker) {
	u := &l.unknownJobs
	w.unknownJobs = slices.DeleteFunc(w.unknownJobs, func(job string) bool {
		j := l.jobsByID[job]
		switch {
		case u.hasEnded(job):
			l.sendEnded(w, job)
			return true
		case j != nil:
			w.share(j)
			return true
		case !l.isParked(w, job) && !u.lookups[job] && len(u.lookups) < maxLookups:
			u.lookups[job] = true
			l.do(LookUpJob{job})
		}
		return false
	})
}

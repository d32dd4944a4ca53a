package ledger

import (
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// unknownJobs contains what is known about jobs that appear in reports but not in the ledger. A worker that is
// told of a job's end drops the job's items and spans, so the ledger must be certain of the end.
type unknownJobs struct {
	parked     map[string]bool
	lookups    map[string]bool // IDs of the jobs for which a [LookUpJob] is in flight
	ended      map[string]bool // IDs of the maxEnded jobs that ended last
	endedOrder []string        // IDs of the ended jobs, the oldest first
}

const (
	maxLookups = 100  // beyond this number, a job is looked up when a later report contains it
	maxEnded   = 4096 // a job that ended earlier is looked up again
)

func newUnknownJobs() unknownJobs {
	return unknownJobs{parked: map[string]bool{}, lookups: map[string]bool{}, ended: map[string]bool{}}
}

// markKnown removes a job that the ledger has now.
func (u *unknownJobs) markKnown(job string) {
	delete(u.parked, job)
	delete(u.lookups, job)
}

// markParked records that this leader cannot work on a job.
func (u *unknownJobs) markParked(job string) {
	delete(u.lookups, job)
	u.parked[job] = true
}

// Ended reports whether a job is known to have ended. Only the 4,096 jobs that ended last in this
// term are known.
func (l *Ledger) Ended(job string) bool { return l.unknownJobs.ended[job] }

// markEnded records that a job ended.
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
// of the last reported item, or 0. Items of a parked job are acknowledged, so the worker stops
// resending them to this leader. Items of a job that may still be added are not acknowledged, so
// the worker resends them.
//
// If a worker's hello has no storage identity, the worker may use another storage and hold a job of that
// storage. The leader would not find such a job in its own storage and would conclude that the job had ended.
// So the ledger treats the job as parked.
func (l *Ledger) onUnknownJob(w *worker, job string, lastItem uint64) {
	u := &l.unknownJobs
	switch {
	case u.ended[job]:
		w.sendEnded(job)
	case u.parked[job], l.cfg.Storage != "" && w.hello.Storage != l.cfg.Storage:
		if !slices.Contains(w.parkedJobs, job) {
			w.parkedJobs = append(w.parkedJobs, job)
		}
		if lastItem > 0 {
			w.receipt.Jobs = append(w.receipt.Jobs, wire.JobReceipt{Job: job, Received: lastItem})
		}
	case !u.lookups[job] && len(u.lookups) < maxLookups:
		u.lookups[job] = true
		l.do(LookUpJob{job})
	}
}

// sendEndedParkedJobs tells a worker which of the parked jobs in its reports have ended since then.
func (l *Ledger) sendEndedParkedJobs(w *worker) {
	w.parkedJobs = slices.DeleteFunc(w.parkedJobs, func(job string) bool {
		if !l.unknownJobs.ended[job] {
			return false
		}
		w.sendEnded(job)
		return true
	})
}

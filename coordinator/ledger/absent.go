package ledger

import (
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// absent are the jobs that are not here and that workers may speak of. To tell a
// worker that a job has ended makes it drop what it has, so it is said only of
// those that did.
type absent struct {
	parked map[string]bool // another leader's to go on with
	asked  map[string]bool // [LookUpJob] is under way
	over   map[string]bool // ended; the last of them
	order  []string        // of those in over, the oldest first
}

const (
	maxAsked = 100  // inquiries at a time; what is beyond is spoken of again
	maxOver  = 4096 // what is beyond is inquired about again
)

func newAbsent() absent {
	return absent{parked: map[string]bool{}, asked: map[string]bool{}, over: map[string]bool{}}
}

// arrived: the job is here.
func (a *absent) arrived(job string) {
	delete(a.parked, job)
	delete(a.asked, job)
}

// park: the job is for another leader.
func (a *absent) park(job string) {
	delete(a.asked, job)
	a.parked[job] = true
}

// end: the job is over for good.
func (a *absent) end(job string) {
	a.arrived(job)
	if a.over[job] {
		return
	}
	a.over[job] = true
	a.order = append(a.order, job)
	if len(a.order) > maxOver {
		delete(a.over, a.order[0])
		a.order = slices.Delete(a.order, 0, 1)
	}
}

// spokenOf answers a worker that speaks of a job that is not here. Through is the
// last of the items that it reports. Those of a parked job need not be sent to
// this leader again. About those of a job that may yet come nothing is said, so
// they are.
func (l *Ledger) spokenOf(w *worker, job string, through uint64) {
	switch {
	case l.absent.over[job]:
		w.tellEnded(job)
	case l.absent.parked[job]:
		if !slices.Contains(w.parked, job) {
			w.parked = append(w.parked, job)
		}
		if through > 0 {
			w.receipt.Jobs = append(w.receipt.Jobs, wire.JobReceipt{Job: job, Received: through})
		}
	case !l.absent.asked[job] && len(l.absent.asked) < maxAsked:
		l.absent.asked[job] = true
		l.do(LookUpJob{job})
	}
}

// tellParked tells a worker of jobs that have ended though this leader had set
// them aside.
func (l *Ledger) tellParked(w *worker) {
	w.parked = slices.DeleteFunc(w.parked, func(job string) bool {
		if !l.absent.over[job] {
			return false
		}
		w.tellEnded(job)
		return true
	})
}

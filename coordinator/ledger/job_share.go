package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// jobShare is the ledger's data about one worker and one job: what the worker knows of the job, how
// fast it runs the job's partitions, and whether it can open the job.
type jobShare struct {
	job *job

	opened       bool          // the worker was sent the data for opening the job
	ackDue       bool          // the next receipt must acknowledge items
	sentReceived uint64        // value of contributor.received that was last sent to the worker
	sentDurable  uint64        // value of contributor.durable that was last sent to the worker
	release      []engine.Node // held nodes that the next receipt tells the worker to release
	store        []engine.Node // held nodes that the worker is told to store
	next         uint64        // end of the worker's last assignment; used if partials are large
	rate         rate          // partitions per second that one of the worker's slots finishes
	ran          spanSet       // partitions of a round that the worker has computed
	home         spanSet       // partitions that the worker has computed in the round before, and that may be queued
	awaited      bool          // the worker has a home, and has not reported since the round began
	noted        bool          // the event of the worker's first span was recorded
	openFailures int           // consecutive failures to open the job
	benchedUntil time.Duration
}

// perSecond estimates how many partitions per second one of the worker's slots finishes. If the
// worker's rate is unknown, perSecond returns the job's rate, or 0 if this leader has not measured
// the job's rate: a new leader begins with small assignments.
func (s *jobShare) perSecond() float64 { return cmp.Or(s.rate.perSecond(), s.job.rate.perSecond()) }

// slotSeconds estimates how many seconds one slot needs for a number of partitions; it returns 0 if
// the worker's rate is unknown.
func (s *jobShare) slotSeconds(partitions uint64) float64 {
	if perSecond := s.perSecond(); perSecond > 0 {
		return float64(partitions) / perSecond
	}
	return 0
}

// share returns a worker's jobShare for a job, and adds it if there is none.
func (w *worker) share(j *job) *jobShare {
	i, found := w.findShare(j.spec.ID)
	if !found {
		w.shares = slices.Insert(w.shares, i, &jobShare{job: j})
	} else if w.shares[i].job != j { // the jobShare belongs to an earlier job with the same ID, which has ended
		w.shares[i] = &jobShare{job: j}
	}
	return w.shares[i]
}

func (w *worker) findShare(job string) (int, bool) {
	return slices.BinarySearchFunc(w.shares, job, func(s *jobShare, id string) int { return cmp.Compare(s.job.spec.ID, id) })
}

package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

// jobShare is the ledger's data about one worker and one job: what the worker was told about the
// job, how fast it runs the job's partitions, and whether it can open the job.
type jobShare struct {
	job *job

	opened       bool        // the worker has got the data for opening the job
	ackDue       bool        // the next receipt must acknowledge items
	sentReceived uint64      // contributor.received in the last receipt that contained this number
	sentDurable  uint64      // contributor.durable in the last receipt that contained this number
	release      []jobs.Node // held nodes that the next receipt releases
	store        []jobs.Node // held nodes that the worker is told to store
	next         uint64      // where the worker's last piece ended; used if partials are large
	rate         rate        // partitions per second of one of the worker's slots
	openFailures int         // consecutive failures to open the job
	benchedUntil time.Duration
}

// perSecond estimates how many partitions per second one of the worker's slots finishes. If the worker was not
// measured, perSecond returns the job's rate, or 0 if this rate is unknown too.
func (s *jobShare) perSecond() float64 { return cmp.Or(s.rate.perSecond(), s.job.rate.perSecond()) }

// takes estimates how many seconds one slot needs for a number of partitions; 0 if the worker's speed is
// unknown.
func (s *jobShare) takes(partitions uint64) float64 {
	if perSecond := s.perSecond(); perSecond > 0 {
		return float64(partitions) / perSecond
	}
	return 0
}

// share returns a worker's share of a job, and adds the share if the worker has no share yet.
func (w *worker) share(j *job) *jobShare {
	i, found := w.findShare(j.spec.ID)
	if !found {
		w.shares = slices.Insert(w.shares, i, &jobShare{job: j})
	} else if w.shares[i].job != j { // the share belongs to an earlier job with the same ID, which has ended
		w.shares[i] = &jobShare{job: j}
	}
	return w.shares[i]
}

func (w *worker) findShare(job string) (int, bool) {
	return slices.BinarySearchFunc(w.shares, job, func(s *jobShare, id string) int { return cmp.Compare(s.job.spec.ID, id) })
}

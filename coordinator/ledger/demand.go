package ledger

import (
	"math"
	"time"
)

// Demand returns the number of workers that are needed to run the active jobs one after the other,
// so that each job takes about the given time:
//
//	Demand = ceil(min(Σ partitions / rate / within, Σ unfinished partitions) / slots per worker)
//
// Demand's sums are over the active jobs. Demand is 0 if no job is active; otherwise it is between
// 1 and Config.MaxWorkers. The rate of a job is the number of partitions that one slot finishes per
// second. A job with an unknown rate adds 0 to the first sum. The number of slots per worker is the
// mean over all workers, or 1 if there are no workers.
//
// The first sum includes finished partitions. If finished partitions did not count, the demand
// would fall with the job's progress, and an autoscaler would remove the workers that the job
// needs.
func (l *Ledger) Demand(within time.Duration) int {
	if len(l.jobs) == 0 {
		return 0
	}
	slots, unfinished := 0.0, 0.0
	for _, j := range l.jobs {
		partitions := float64(j.result().Len())
		unfinished += partitions - float64(j.done())
		if perSecond := j.perSecond(); perSecond > 0 {
			slots += partitions / perSecond / within.Seconds()
		}
	}
	slotsPerWorker := 1.0
	if len(l.workers) > 0 {
		total := 0
		for _, w := range l.workers {
			total += w.slots
		}
		slotsPerWorker = max(1, float64(total)) / float64(len(l.workers))
	}
	return max(1, int(min(math.Ceil(min(slots, unfinished)/slotsPerWorker), float64(l.cfg.MaxWorkers))))
}

package ledger

import (
	"math"
	"time"
)

// Demand is how many workers there is work for: so many that the active jobs, all
// their partitions counted, would take about the given time one after the other.
//
//	Demand = ceil(min(Σ partitions / speed / within, Σ partitions left) / slots per worker)
//
// summed over the active jobs, at least 1 where there is one and 0 where there is
// none. Speed is what a slot does of the job per second; a job whose speed is not
// known yet counts nothing but that it is there. That all partitions count, and not
// those that are left, keeps the number of workers from dwindling with the work,
// which would never be done then. Slots per worker is their mean, 1 without workers.
func (l *Ledger) Demand(within time.Duration) int {
	if len(l.jobs) == 0 {
		return 0
	}
	slots, left := 0.0, 0.0
	for _, j := range l.jobs {
		partitions := float64(j.tree.Partitions())
		left += partitions - float64(j.forest.done())
		if speed := j.pace.speed(); speed > 0 {
			slots += partitions / speed / within.Seconds()
		}
	}
	each := 1.0
	if len(l.workers) > 0 {
		total := 0
		for _, w := range l.workers {
			total += w.slots
		}
		each = float64(total) / float64(len(l.workers))
	}
	return max(1, int(min(math.Ceil(min(slots, left)/each), float64(l.cfg.MaxWorkers))))
}

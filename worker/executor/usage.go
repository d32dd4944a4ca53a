package executor

import (
	"runtime/metrics"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// usage returns the worker's use of its machine's resources.
func (w *Worker) usage() wire.Usage {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	u := wire.Usage{Memory: samples[0].Value.Uint64() - samples[1].Value.Uint64()}
	w.mu.Lock()
	u.Items, u.Bytes = w.session.Kept()
	w.mu.Unlock()
	return u
}

// DeathCost returns how much work of slots would be lost if the process died now: the work
// since each busy slot last handed over its results, in slot-seconds.
func (w *Worker) DeathCost() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	cost := time.Duration(0)
	for _, s := range w.slots {
		if s.task != nil {
			cost += time.Since(s.since)
		}
	}
	return cost.Seconds()
}

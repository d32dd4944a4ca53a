package executor

import (
	"runtime/metrics"
	"time"

	"github.com/bellwether-compute/bellwether/worker/internal/holdings"
)

// usedMemory returns how many bytes of memory the process has obtained from the operating system.
func usedMemory() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// usedCores returns a function that returns how many cores the process and its programs that have ended have kept busy, on
// average over the second or more before the last measurement. The function is not safe for concurrent use.
func usedCores() func() float64 {
	var cores float64
	at, used := time.Now(), processorTime()
	return func() float64 {
		if passed := time.Since(at); passed >= time.Second {
			now := processorTime()
			cores, at, used = float64(now-used)/float64(passed), at.Add(passed), now
		}
		return cores
	}
}

// Partials are figures of a worker's large partials.
type Partials struct {
	holdings.Stats
	Stored uint64 // number of held partials that were written to storage so far
}

// Partials returns the figures of the worker's large partials.
func (w *Worker) Partials() Partials {
	if w.partials.held == nil {
		return Partials{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return Partials{w.partials.held.Stats(), w.partials.stored}
}

// DeathCost returns how much work would be lost if the process died now, in seconds of one slot. It
// adds up the time that each busy slot has worked since its last delivery, and the work in held
// nodes that are not durable.
func (w *Worker) DeathCost() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	cost := 0.0
	for _, s := range w.slots.list {
		if s.task != nil {
			cost += time.Since(s.since).Seconds()
		}
	}
	w.session.Undurable(func(job string, partitions uint64) {
		if t := w.tasks.byJob[job]; t != nil {
			cost += t.takes(partitions)
		}
	})
	return cost
}

// mapped updates the mean time per partition after a slot has run partitions.
func (t *task) mapped(partitions uint64, took time.Duration) {
	t.partitions.Add(partitions)
	t.took.Add(int64(took))
}

// takes estimates how many seconds one slot needs for a number of partitions.
func (t *task) takes(partitions uint64) float64 {
	return time.Duration(t.took.Load()).Seconds() / float64(max(1, t.partitions.Load())) * float64(partitions)
}

package bench

import (
	"fmt"
	"slices"
	"testing"
)

// kills per failover benchmark.
const kills = 20

// BenchmarkFailover kills the leader's process again and again while all cores
// are busy, and reports the times from its last sign of life to the first
// assignment by the next leader.
func BenchmarkFailover(b *testing.B) {
	for _, storage := range []struct {
		name  string
		flags func(*testing.B) []string
	}{{"jetstream", onJetStream}, {"azurite", onAzurite}} {
		b.Run(storage.name, func(b *testing.B) { benchmarkFailover(b, storage.flags(b)) })
	}
}

func benchmarkFailover(b *testing.B, storage []string) {
	const workers = 4
	for b.Loop() {
		f := startFleetOn(b, storage, workers, true)
		var job struct{ ID string }
		f.must(&job, append([]string{"submit", "primes"}, flags([]string{"limit=1e13", "width=1e7"})...)...)
		for range kills {
			f.awaitWorkers(workers)
			f.killLeader()
		}
		var changes []change
		f.must(&changes, "history")
		var detect, ready, total []float64
		for _, c := range changes {
			if c.Epoch == 1 {
				continue // nobody had died yet
			}
			could := c.Detect + c.Elect + c.Fence + c.Resume
			did := could + c.Assigned
			b.Logf("epoch %d (%s): detect %.1f, elect %.1f, fence %.1f, resume %.1f, assign %.1f: %.1f ms",
				c.Epoch, c.Cause, c.Detect, c.Elect, c.Fence, c.Resume, c.Assigned, did)
			detect, ready, total = append(detect, c.Detect), append(ready, could), append(total, did)
		}
		var cancelled struct{}
		f.must(&cancelled, "cancel", job.ID)
		b.ReportMetric(median(detect), "detect-ms")
		b.ReportMetric(median(total), "first-assignment-ms")
		b.ReportMetric(slices.Max(total), "worst-ms")
		b.ReportMetric(median(ready), "ready-ms")
		b.ReportMetric(slices.Max(ready), "worst-ready-ms")
		b.ReportMetric(float64(len(total)), "failovers")
	}
}

// change is one change of leader in the history.
type change struct {
	Epoch    uint64  `json:"epoch"`
	Cause    string  `json:"cause"`
	Detect   float64 `json:"detect_ms"`
	Elect    float64 `json:"elect_ms"`
	Fence    float64 `json:"fence_ms"`
	Resume   float64 `json:"resume_ms"`
	Assigned float64 `json:"first_assignment_ms"`
}

// killLeader ends the leader's process with SIGKILL and waits until another leads
// and has given work.
func (f *fleet) killLeader() {
	f.b.Helper()
	var leader struct {
		Epoch uint64
		PID   int
	}
	f.must(&leader, "leader")
	process := f.Find(leader.PID)
	if process == nil {
		f.b.Fatalf("the leader, process %d, is none of the fleet", leader.PID)
	}
	process.Kill()
	f.until(fmt.Sprintf("somebody leads after epoch %d", leader.Epoch), func() bool {
		var next struct{ Epoch uint64 }
		return f.ask(&next, "leader") == nil && next.Epoch > leader.Epoch
	})
	f.until(fmt.Sprintf("a leader after epoch %d has given work", leader.Epoch), func() bool {
		var changes []change
		return f.ask(&changes, "history") == nil && slices.ContainsFunc(changes, func(c change) bool {
			return c.Epoch > leader.Epoch && c.Assigned > 0
		})
	})
}

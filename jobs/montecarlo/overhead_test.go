//go:build unix

package montecarlo

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

// BenchmarkEstimates compares the processor time of a run that judges its prefixes with the time of a run that does
// not. The run has a million partitions of 5 paths. The two kinds of run take turns. The result is the median of
// their ratios.
func BenchmarkEstimates(b *testing.B) {
	plain := Definition
	plain.Estimate, plain.Stop = nil, nil
	with, without := jobs.MustNew(Definition), jobs.MustNew(plain)
	params, err := with.Params(nil, "paths=5_000_000", "batch=5")
	if err != nil {
		b.Fatal(err)
	}
	rungs := 0
	run := func(job jobs.Job) time.Duration {
		rungs = 0
		began := processorTime(b)
		local := jobs.Local{Slots: 1, Attempts: 1, Estimated: func(jobs.Estimated) { rungs++ }}
		if _, err := local.Run(b.Context(), job, params); err != nil {
			b.Fatal(err)
		}
		return processorTime(b) - began
	}
	var ratios []float64
	var each time.Duration
	for b.Loop() {
		each = run(without)
		ratios = append(ratios, float64(run(with))/float64(each))
	}
	slices.Sort(ratios)
	b.ReportMetric(100*(ratios[len(ratios)/2]-1), "overhead-%")
	b.ReportMetric(float64(each.Nanoseconds())/1e6, "ns/partition")
	b.Logf("%d runs of each kind, %d rungs; ratios from %.3f to %.3f", len(ratios), rungs, ratios[0], ratios[len(ratios)-1])
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

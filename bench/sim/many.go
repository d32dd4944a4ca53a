package sim

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Report is what the simulations of many seeds gave.
type Report struct {
	Seeds    uint64 // that were run
	Took     time.Duration
	Coverage Coverage
	Failures []Failure // sorted by seed
}

// Failure is a promise broken under a seed.
type Failure struct {
	Seed uint64
	Err  error
}

// RunAll runs the seeds from first on, n of them, on all processors. It stops
// early where as many have failed as are enough.
func RunAll(first, n uint64, enough int) Report {
	began := time.Now()
	var (
		next   atomic.Uint64
		mu     sync.Mutex
		report = Report{Coverage: Coverage{}}
		group  sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for {
				seed := first + next.Add(1) - 1
				mu.Lock()
				done := seed >= first+n || len(report.Failures) >= enough
				mu.Unlock()
				if done {
					return
				}
				coverage, err := Run(seed, nil)
				mu.Lock()
				report.Seeds++
				report.Coverage.Add(coverage)
				if err != nil {
					report.Failures = append(report.Failures, Failure{seed, err})
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	report.Took = time.Since(began)
	slices.SortFunc(report.Failures, func(a, b Failure) int { return cmp.Compare(a.Seed, b.Seed) })
	return report
}

package sim

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Report summarizes the simulations of many seeds.
type Report struct {
	Seeds    uint64 // number of seeds that were simulated
	Took     time.Duration
	Coverage Coverage
	Failures []Failure // broken promises, sorted by seed
}

// Failure is a promise that was broken in the simulation of a seed.
type Failure struct {
	Seed uint64
	Err  error
}

// RunAll simulates n seeds on all processors, beginning with the seed first. RunAll stops early
// when maxFailures seeds have failed.
func RunAll(first, n uint64, maxFailures int) Report {
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
				done := seed >= first+n || len(report.Failures) >= maxFailures
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

package bench_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/primes"
)

// primesLimit makes about ten seconds' work for two cores.
const primesLimit = 60_000_000_000

// BenchmarkOverhead compares the primes below a limit, computed by two worker
// processes, with the same kernel in a plain loop of two goroutines. They take
// turns; "efficiency" is the median of the ratios of their speeds.
func BenchmarkOverhead(b *testing.B) {
	f := startFleet(b, 2, false)
	for _, partitions := range []uint64{1_000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(partitions), func(b *testing.B) {
			f := &fleet{b: b, url: f.url, flags: f.flags, Flock: f.Flock}
			var ratios []float64
			var loops, fleets []time.Duration
			for b.Loop() {
				loop, count := plainLoop(b, partitions)
				o := f.run("primes", fmt.Sprint("limit=", primesLimit), fmt.Sprint("partitions=", partitions))
				if o.State != "completed" || o.Repeated != 0 {
					b.Fatalf("job is %s, %d partitions repeated", o.State, o.Repeated)
				}
				b.Logf("%d partitions: loop %v (%d primes), fleet %v", partitions, loop, count, o.took())
				ratios = append(ratios, loop.Seconds()/o.took().Seconds())
				loops, fleets = append(loops, loop), append(fleets, o.took())
			}
			b.ReportMetric(median(ratios), "efficiency")
			b.ReportMetric(median(loops).Seconds(), "loop-s")
			b.ReportMetric(median(fleets).Seconds(), "fleet-s")
		})
	}
}

// plainLoop finds the same primes in a plain loop.
func plainLoop(b *testing.B, partitions uint64) (took time.Duration, count uint64) {
	b.Helper()
	p := primes.Definition.Defaults
	p.Limit, p.Partitions = primesLimit, partitions
	began := time.Now()
	result, err := loop(primes.Definition, p)
	if err != nil {
		b.Fatal(err)
	}
	return time.Since(began), result.Count
}

// loop runs a job's kernel and merge over half of the partitions in each of two
// goroutines, one after another and without anything around it.
func loop[P, T, R any](d jobs.Definition[P, T, R], p P) (result R, err error) {
	ctx := context.Background()
	plan, err := d.Plan(ctx, p)
	if err != nil {
		return result, err
	}
	mapper, err := d.Open(ctx, p, plan)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, mapper.Close()) }()

	half := plan.Partitions / 2
	spans := [2]jobs.Span{{Hi: half}, {Lo: half, Hi: plan.Partitions}}
	var sums [2]T
	var group errgroup.Group
	for i, s := range spans {
		group.Go(func() error {
			do := mapper.Map
			if f, ok := mapper.(jobs.Forker[T]); ok {
				do = f.Fork() // what slots use, too
			}
			sum, err := do(ctx, s.Lo)
			for at := s.Lo + 1; at < s.Hi && err == nil; at++ {
				var one T
				if one, err = do(ctx, at); err == nil {
					sum, err = d.Merge(sum, one)
				}
			}
			sums[i] = sum
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return result, err
	}
	root, err := d.Merge(sums[0], sums[1])
	if err != nil {
		return result, err
	}
	return d.Finish(ctx, p, root)
}

package primes

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

// BenchmarkSieve measures the sieve in one slot. One operation sieves the last 500 million numbers
// below the limit.
func BenchmarkSieve(b *testing.B) {
	const numbers = 500_000_000
	for _, limit := range []uint64{1e9, 1e10, 1e13} {
		b.Run(fmt.Sprintf("limit=%.0e", float64(limit)), func(b *testing.B) {
			block := newSieve(limit).newBlock()
			for b.Loop() {
				if _, err := block.count(context.Background(), limit-numbers, limit); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(numbers*float64(b.N)/b.Elapsed().Seconds(), "numbers/s")
		})
	}
}

// BenchmarkPartitions compares the job on two slots with the same sieve in a plain loop of two
// goroutines without partitions. The metric of-plain is the job's speed divided by the loop's
// speed.
func BenchmarkPartitions(b *testing.B) {
	const limit = 10_000_000_000
	for _, partitions := range []uint64{1_000, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("partitions=%d", partitions), func(b *testing.B) {
			job := jobs.MustNew(Definition)
			params, err := job.Params(nil, fmt.Sprintf("limit=%d", limit), fmt.Sprintf("partitions=%d", partitions))
			if err != nil {
				b.Fatal(err)
			}
			var plain, local time.Duration
			for b.Loop() {
				started := time.Now()
				want := plainLoop(b, limit)
				plain += time.Since(started)

				started = time.Now()
				done, err := jobs.Local{Slots: 2}.Run(context.Background(), job, params)
				local += time.Since(started)
				if err != nil {
					b.Fatal(err)
				}
				if done.Partitions != partitions || decode(b, done.Result).Sum != want.Sum {
					b.Fatalf("%d partitions gave %s", done.Partitions, done.Result)
				}
			}
			b.ReportMetric(float64(plain)/float64(local), "of-plain")
			b.ReportMetric(local.Seconds()/float64(b.N), "s/job")
		})
	}
}

// plainLoop computes the tally without the SDK.
func plainLoop(b *testing.B, limit uint64) tally {
	const pieces = 128
	s := newSieve(limit)
	width := ceilDiv(limit, pieces)
	tallies := make([]tally, pieces)
	var next atomic.Uint64
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			block := s.newBlock()
			for i := next.Add(1) - 1; i < pieces; i = next.Add(1) - 1 {
				var err error
				tallies[i], err = block.count(context.Background(), i*width, min((i+1)*width, limit))
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
	total := tallies[0]
	for _, t := range tallies[1:] {
		total, _ = merge(total, t)
	}
	return total
}

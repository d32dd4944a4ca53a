package primes

import (
	"context"

	"github.com/bellwether-compute/bellwether/jobs"
)

// Params contains the limit of the search and the number of partitions.
type Params struct {
	Limit      uint64 `json:"limit" min:"2" max:"1e13" help:"find the primes below this number"`
	Width      uint64 `json:"width" min:"1" max:"1e13" help:"numbers per partition"`
	Partitions uint64 `json:"partitions" max:"1e13" help:"if not 0, the number of partitions, in place of width; fewer where widths do not come out even"`
}

// width returns the number of integers in a partition. The last partition may have fewer.
func (p Params) width() uint64 {
	if p.Partitions > 0 {
		return ceilDiv(p.Limit, p.Partitions)
	}
	return p.Width
}

// Result is the result of the job. Largest is 0 if no prime is below the limit, and LargestGap is 0
// if there are fewer than two primes.
type Result struct {
	Count      uint64 `json:"count"`       // number of primes below the limit
	Sum        uint64 `json:"sum"`         // sum of the primes below the limit, modulo 2^64
	Largest    uint64 `json:"largest"`     // largest prime below the limit
	TwinPairs  uint64 `json:"twin_pairs"`  // number of pairs of primes p and p+2, both below the limit
	LargestGap uint64 `json:"largest_gap"` // largest difference of neighbouring primes, both below the limit
	GapAfter   uint64 `json:"gap_after"`   // smallest prime that is followed by a gap of size LargestGap
}

// Definition is the definition of the job primes.
var Definition = jobs.Definition[Params, tally, Result]{
	Name:     "primes",
	Version:  "1",
	Summary:  "primes below a limit: count, sum, largest, twin pairs, largest gap",
	Defaults: Params{Limit: 1_000_000_000, Width: 10_000_000},
	Plan: func(_ context.Context, p Params) (jobs.Plan, error) {
		return jobs.Plan{Partitions: ceilDiv(p.Limit, p.width())}, nil
	},
	Open: func(_ context.Context, p Params, _ jobs.Plan) (jobs.Mapper[tally], error) {
		return &mapper{limit: p.Limit, width: p.width(), sieve: newSieve(p.Limit)}, nil
	},
	Merge: merge,
	Finish: func(_ context.Context, _ Params, t tally) (Result, error) {
		return Result{
			Count: t.Count, Sum: t.Sum, Largest: t.Last,
			TwinPairs: t.TwinPairs, LargestGap: t.Gap, GapAfter: t.GapAfter,
		}, nil
	},
}

type mapper struct {
	limit, width uint64
	sieve        *sieve
}

// Fork returns a Map function that keeps its sieved block between partitions.
func (m *mapper) Fork() func(context.Context, uint64) (tally, error) {
	block := m.sieve.newBlock()
	return func(ctx context.Context, partition uint64) (tally, error) {
		lo := partition * m.width
		return block.count(ctx, lo, min(lo+m.width, m.limit))
	}
}

func (m *mapper) Map(ctx context.Context, partition uint64) (tally, error) {
	return m.Fork()(ctx, partition)
}

func ceilDiv(a, b uint64) uint64 { return (a + b - 1) / b }

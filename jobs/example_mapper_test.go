package jobs_test

import (
	"context"
	"fmt"
	"iter"

	"github.com/bellwether-compute/bellwether/jobs"
)

type rangeParams struct {
	Limit uint64 `json:"limit" min:"1" max:"1e12" help:"highest number"`
}

const numbersPerPartition = 10_000

func planRange(_ context.Context, p rangeParams) (jobs.Plan, error) {
	return jobs.Plan{Partitions: (p.Limit-1)/numbersPerPartition + 1}, nil
}

// bounds returns the first number of a partition, and the number after its last one.
func (p rangeParams) bounds(partition uint64) (first, end uint64) {
	first = partition*numbersPerPartition + 1
	return first, min(first+numbersPerPartition, p.Limit+1)
}

func add(left, right uint64) (uint64, error) { return left + right, nil }

func same(_ context.Context, _ rangeParams, root uint64) (uint64, error) { return root, nil }

// squareFree counts the numbers that are not divisible by a square. Its mapper is a Forker, because
// each slot needs a sieve.
type squareFree struct{ rangeParams }

func (m squareFree) Fork() func(context.Context, uint64) (uint64, error) {
	divisible := make([]bool, numbersPerPartition) // the sieve of one slot, which all of its partitions use
	return func(_ context.Context, partition uint64) (count uint64, err error) {
		clear(divisible) // a value must not depend on the partitions that the slot ran before
		first, end := m.bounds(partition)
		for root := uint64(2); root*root < end; root++ {
			square := root * root
			for n := (first + square - 1) / square * square; n < end; n += square {
				divisible[n-first] = true
			}
		}
		for n := first; n < end; n++ {
			if !divisible[n-first] {
				count++
			}
		}
		return count, nil
	}
}

// Map computes a partition without the memory of a slot.
func (m squareFree) Map(ctx context.Context, partition uint64) (uint64, error) {
	return m.Fork()(ctx, partition)
}

// ExampleForker runs a job whose slots keep memory between their partitions.
func ExampleForker() {
	job := jobs.MustNew(jobs.Definition[rangeParams, uint64, uint64]{
		Name: "square-free", Version: "1", Summary: "count of numbers without a square divisor",
		Defaults: rangeParams{Limit: 100_000},
		Plan:     planRange,
		Open: func(_ context.Context, p rangeParams, _ jobs.Plan) (jobs.Mapper[uint64], error) {
			return squareFree{p}, nil
		},
		Merge: add, Finish: same,
	})
	params, _ := job.Params(nil)
	result, err := jobs.Local{Slots: 2, Attempts: 1}.Run(context.Background(), job, params)
	fmt.Printf("%s %v\n", result.Result, err)
	// Output: 60794 <nil>
}

// lookups asks a service for values. Its mapper is a Streamer, because the service answers a request
// for 16 partitions as fast as a request for one.
type lookups struct{}

func (lookups) Stream(ctx context.Context, span jobs.Span) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		for lo := span.Lo; lo < span.Hi; lo += 16 {
			values, err := ask(ctx, lo, min(lo+16, span.Hi))
			for _, value := range values {
				if !yield(value, nil) { // the caller needs no more values
					return
				}
			}
			if err != nil {
				yield(0, err) // the error of the first partition without a value
				return
			}
		}
	}
}

// Map computes one partition, which only the second computation of an audit needs.
func (lookups) Map(ctx context.Context, partition uint64) (uint64, error) {
	values, err := ask(ctx, partition, partition+1)
	if err != nil {
		return 0, err
	}
	return values[0], nil
}

// ask stands for a request to a service.
func ask(ctx context.Context, lo, hi uint64) (values []uint64, err error) {
	for n := lo; n < hi; n++ {
		values = append(values, n*n)
	}
	return values, ctx.Err()
}

// ExampleStreamer runs a job that computes several partitions with one request.
func ExampleStreamer() {
	job := jobs.MustNew(jobs.Definition[rangeParams, uint64, uint64]{
		Name: "lookups", Version: "1", Summary: "sum of looked up values",
		Defaults: rangeParams{Limit: 1_000_000},
		Plan:     planRange,
		Open: func(context.Context, rangeParams, jobs.Plan) (jobs.Mapper[uint64], error) {
			return lookups{}, nil
		},
		Merge: add, Finish: same,
	})
	params, _ := job.Params(nil)
	result, err := jobs.Local{Slots: 2, Attempts: 1}.Run(context.Background(), job, params)
	fmt.Printf("%s %v\n", result.Result, err)
	// Output: 328350 <nil>
}

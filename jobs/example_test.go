package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"github.com/bellwether-compute/bellwether/jobs"
)

// collatzParams declares the parameters of the job.
type collatzParams struct {
	Limit uint64 `json:"limit" min:"1" max:"1e12" help:"start from every number up to this one"`
}

// longest is a partial: the longest Collatz sequence of a range of start numbers.
type longest struct {
	Start uint64 `json:"start"`
	Steps uint64 `json:"steps"`
}

const startsPerPartition = 1000

// collatz finds the number up to a limit from which the Collatz sequence (halve
// it if even, else triple it and add one) takes most steps to reach 1.
var collatz = jobs.Definition[collatzParams, longest, longest]{
	Name: "collatz", Version: "1", Summary: "longest Collatz sequence",
	Defaults: collatzParams{Limit: 1_000_000},

	Plan: func(_ context.Context, p collatzParams) (jobs.Plan, error) {
		return jobs.Plan{Partitions: (p.Limit-1)/startsPerPartition + 1}, nil
	},
	Open: func(_ context.Context, p collatzParams, _ jobs.Plan) (jobs.Mapper[longest], error) {
		return collatzMapper{p.Limit}, nil
	},
	Merge: func(left, right longest) (longest, error) {
		if right.Steps > left.Steps { // if two sequences are equally long, the first one wins
			return right, nil
		}
		return left, nil
	},
	Finish: func(_ context.Context, _ collatzParams, root longest) (longest, error) { return root, nil },
}

type collatzMapper struct{ limit uint64 }

func (m collatzMapper) Map(_ context.Context, partition uint64) (best longest, err error) {
	first := partition*startsPerPartition + 1
	for start := first; start < first+startsPerPartition && start <= m.limit; start++ {
		steps := uint64(0)
		for n := start; n != 1; steps++ {
			if n%2 == 0 {
				n /= 2
				continue
			}
			high, low := bits.Mul64(n, 3)
			if high != 0 || low == 1<<64-1 {
				return best, jobs.Permanent(errors.New("the sequence leaves 64 bits"))
			}
			n = low + 1
		}
		if steps > best.Steps || start == first {
			best = longest{start, steps}
		}
	}
	return best, nil
}

// ExampleNew runs a complete job in this process. To run the job on a cluster, the main function of
// a program is
//
//	func main() { cli.Main(jobs.MustNew(collatz)) }
func ExampleNew() {
	job, err := jobs.New(collatz)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := job.Params(nil, "limit=0"); err != nil {
		fmt.Println(err)
	}
	params, err := job.Params(nil, "limit=1e5")
	if err != nil {
		fmt.Println(err)
		return
	}
	done, err := jobs.Local{Slots: 2}.Run(context.Background(), job, params)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d partitions: %s\n", done.Partitions, done.Result)
	// Output:
	// job collatz: parameter limit: got 0, takes an integer, 1 to 1e12
	// 100 partitions: {"start":77031,"steps":350}
}

// ExampleCheck tests with small parameters that a job is deterministic.
func ExampleCheck() {
	job := jobs.MustNew(collatz)
	params, err := job.Params(nil, "limit=1e4")
	if err != nil {
		fmt.Println(err)
		return
	}
	checked, err := jobs.Check{Attempts: 1}.Run(context.Background(), job, params)
	if err != nil {
		fmt.Println(err) // if the runs differ, the error is a *jobs.DifferenceError
		return
	}
	fmt.Printf("%d runs: %s\n", len(checked.Runs), checked.Result)
	// Output:
	// 4 runs: {"start":6171,"steps":261}
}

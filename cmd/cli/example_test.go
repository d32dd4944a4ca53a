package cli_test

import (
	"context"
	"os"
	"strconv"

	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/jobs"
)

type params struct {
	Below uint64 `json:"below" min:"1" max:"1e15" help:"look at the numbers below it"`
}

type digits [10]uint64 // a partial, and the result: how often each digit occurs

var definition = jobs.Definition[params, digits, digits]{
	Name: "digits", Version: "1", Summary: "how often each digit occurs",
	Defaults: params{Below: 1_000_000},
	Plan: func(_ context.Context, p params) (jobs.Plan, error) {
		return jobs.Plan{Partitions: (p.Below + 9_999) / 10_000}, nil
	},
	Open: func(_ context.Context, p params, _ jobs.Plan) (jobs.Mapper[digits], error) { return p, nil },
	Merge: func(left, right digits) (digits, error) {
		for i := range left {
			left[i] += right[i]
		}
		return left, nil
	},
	Finish: func(_ context.Context, _ params, root digits) (digits, error) { return root, nil },
}

func (p params) Map(_ context.Context, partition uint64) (count digits, err error) {
	for n := partition * 10_000; n < min((partition+1)*10_000, p.Below); n++ {
		for _, digit := range strconv.FormatUint(n, 10) {
			count[digit-'0']++
		}
	}
	return count, nil
}

func (p params) Close() error { return nil }

// A program that calls Main with its own jobs has the whole command line. Here,
// one command line of it is run in place.
func Example() {
	args := []string{"submit", "digits", "-p", "below=123_456", "--dry-run", "-o", "json"}
	cli.Run(context.Background(), args, cli.Streams{Out: os.Stdout, Err: os.Stderr}, jobs.MustNew(definition))
	// Output: {"job":"digits","version":"1","params":{"below":123456},"partitions":13,"priority":0,"max_attempts":3,"max_skipped":0}
}

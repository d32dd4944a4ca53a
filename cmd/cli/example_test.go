package cli_test

import (
	"context"
	"os"

	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/jobs"
)

type params struct {
	Terms uint64 `json:"terms" min:"1" max:"1e15" help:"terms of the series to add up"`
}

const width = 1_000_000 // terms per partition

var definition = jobs.Definition[params, float64, float64]{
	Name: "pi", Version: "1", Summary: "pi, by Leibniz' series",
	Defaults: params{Terms: 1e9},
	Plan: func(_ context.Context, p params) (jobs.Plan, error) {
		return jobs.Plan{Partitions: (p.Terms + width - 1) / width}, nil
	},
	Open:   func(_ context.Context, p params, _ jobs.Plan) (jobs.Mapper[float64], error) { return p, nil },
	Merge:  func(left, right float64) (float64, error) { return left + right, nil },
	Finish: func(_ context.Context, _ params, root float64) (float64, error) { return 4 * root, nil },
}

func (p params) Map(_ context.Context, partition uint64) (sum float64, err error) {
	for n := partition * width; n < min((partition+1)*width, p.Terms); n++ {
		sum += 1/float64(4*n+1) - 1/float64(4*n+3)
	}
	return sum, nil
}

// A program that calls Main with its own jobs has the whole command line. The example runs one
// command line in this process.
func Example() {
	args := []string{"submit", "pi", "-p", "terms=12_345_678", "--dry-run", "-o", "json"}
	cli.Run(context.Background(), args, cli.Streams{Out: os.Stdout, Err: os.Stderr}, jobs.MustNew(definition))
	// Output: {"job":"pi","version":"1","params":{"terms":12345678},"partitions":13,"priority":0,"max_attempts":3,"max_skipped":0}
}

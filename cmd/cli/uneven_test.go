package cli_test

import (
	"context"
	"sync/atomic"

	"github.com/bellwether-compute/bellwether/jobs"
)

// uneven is a job with one function that is not deterministic: its value contains the number of
// calls in this process.
var uneven = jobs.Definition[unevenParams, uint64, uint64]{
	Name: "uneven", Version: "1", Summary: "a job whose result depends on the run",
	Defaults: unevenParams{In: "none"},
	Plan:     func(context.Context, unevenParams) (jobs.Plan, error) { return jobs.Plan{Partitions: 20}, nil },
	Open: func(_ context.Context, p unevenParams, _ jobs.Plan) (jobs.Mapper[uint64], error) {
		unevenMerge = p.In == "merge"
		return unevenMapper{p}, nil
	},
	Merge: func(left, right uint64) (uint64, error) {
		if unevenMerge {
			return left + right + nextCall(), nil
		}
		return left + right, nil
	},
	Finish: func(_ context.Context, p unevenParams, root uint64) (uint64, error) {
		if p.In == "finish" {
			return root + nextCall(), nil
		}
		return root, nil
	},
}

type unevenParams struct {
	In string `json:"in" oneof:"none map merge finish" help:"function that is not deterministic"`
}

type unevenMapper struct{ unevenParams }

func (m unevenMapper) Map(_ context.Context, partition uint64) (uint64, error) {
	if m.In == "map" && partition == 13 {
		return nextCall(), nil
	}
	return partition, nil
}

var (
	unevenCalls atomic.Uint64
	unevenMerge bool // merges are not deterministic; Merge has no parameters
)

func nextCall() uint64 { return unevenCalls.Add(1) }

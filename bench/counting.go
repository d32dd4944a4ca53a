package bench

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs"
)

// counting is a job whose result is the number of its partitions. The partial of each tree node is
// the number of partitions below the node. Simulated workers therefore know all partials without
// running the job's code. The result shows whether each partition was counted exactly once.
var counting = jobs.Definition[countingParams, uint64, countingResult]{
	Name: "counting", Version: "1", Summary: "counts its partitions",
	Defaults: countingParams{Partitions: 1000},
	Plan: func(_ context.Context, p countingParams) (jobs.Plan, error) {
		return jobs.Plan{Partitions: p.Partitions}, nil
	},
	Open:  func(context.Context, countingParams, jobs.Plan) (jobs.Mapper[uint64], error) { return one{}, nil },
	Merge: func(left, right uint64) (uint64, error) { return left + right, nil },
	Finish: func(_ context.Context, _ countingParams, root uint64) (countingResult, error) {
		return countingResult{root}, nil
	},
	Codec: countCodec{},
}

var countingJob = jobs.MustNew(counting)

type countingParams struct {
	Partitions uint64 `json:"partitions" min:"1" max:"4611686018427387904" help:"number of partitions"`
}

type countingResult struct {
	Counted uint64 `json:"counted"`
}

type one struct{}

func (one) Map(context.Context, uint64) (uint64, error) { return 1, nil }

type countCodec struct{}

func (countCodec) Encode(n uint64) ([]byte, error) { return binary.BigEndian.AppendUint64(nil, n), nil }

func (countCodec) Decode(data []byte) (uint64, error) {
	if len(data) != 8 {
		return 0, fmt.Errorf("a count has 8 bytes, got %d", len(data))
	}
	return binary.BigEndian.Uint64(data), nil
}

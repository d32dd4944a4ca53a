package jobs_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/bellwether-compute/bellwether/jobs"
)

type searchParams struct {
	Zeros int `json:"zeros" min:"1" max:"60" help:"zero bits at the beginning of the hash"`
}

// hit is a partial: the lowest number whose hash begins with enough zero bits, if there is one.
type hit struct {
	Found  bool   `json:"found"`
	Number uint64 `json:"number"`
}

const hashesPerPartition = 1 << 12

// search finds the lowest number whose SHA-256 begins with a number of zero bits. It has 2^40 partitions, and stops
// at the first prefix with a hit. The hit is the lowest one, whichever worker was the first to find any.
var search = jobs.Definition[searchParams, hit, hit]{
	Name: "search", Version: "1", Summary: "lowest number with a hash that begins with zeros",
	Defaults: searchParams{Zeros: 16},

	Plan: func(context.Context, searchParams) (jobs.Plan, error) { return jobs.Plan{Partitions: 1 << 40}, nil },
	Open: func(_ context.Context, p searchParams, _ jobs.Plan) (jobs.Mapper[hit], error) { return p, nil },
	Merge: func(left, right hit) (hit, error) {
		if left.Found {
			return left, nil
		}
		return right, nil
	},
	Finish: func(_ context.Context, _ searchParams, root hit) (hit, error) { return root, nil },
	Stop:   func(_ context.Context, _ searchParams, prefix hit, _ uint64) (bool, error) { return prefix.Found, nil },
}

func (p searchParams) Map(_ context.Context, partition uint64) (hit, error) {
	for n := partition * hashesPerPartition; n < (partition+1)*hashesPerPartition; n++ {
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, n))
		if bits.LeadingZeros64(binary.BigEndian.Uint64(sum[:])) >= p.Zeros {
			return hit{true, n}, nil
		}
	}
	return hit{}, nil
}

// The job search stops at the first hit.
func ExampleDefinition_stop() {
	job := jobs.MustNew(search)
	params, err := job.Params(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := jobs.Local{Slots: 4, Attempts: 1}.Run(context.Background(), job, params)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s, stopped after %d partitions, rung %d\n", result.Result, result.Stopped.At, result.Stopped.Rung)
	// Output:
	// {"found":true,"number":30556}, stopped after 8 partitions, rung 8
}

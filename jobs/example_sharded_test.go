package jobs_test

import (
	"context"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs"
)

type bandsParams struct {
	Samples uint64 `json:"samples" min:"1" help:"number of vectors to add up"`
	Length  int    `json:"length" min:"1" max:"1e12" help:"numbers in each vector"`
	Band    int    `json:"band" min:"1" help:"numbers in a shard"`
}

// bands adds up one vector of numbers per partition, as the job spectrum does. It computes and adds the vectors band by
// band, so a worker needs memory for a few bands, and the vectors may be larger than its memory.
var bands = jobs.Sharded[bandsParams, []float64, string, jobs.Attachment]{
	Name: "bands", Version: "1", Summary: "sum of vectors larger than a worker",
	Defaults: bandsParams{Samples: 1000, Length: 500_000_000, Band: 32768},
	Plan: func(_ context.Context, p bandsParams) (jobs.ShardedPlan, error) {
		return jobs.ShardedPlan{Shards: uint64((p.Length-1)/p.Band + 1), Partitions: p.Samples}, nil
	},
	Open: func(_ context.Context, p bandsParams, _ jobs.ShardedPlan) (jobs.ShardMapper[[]float64], error) {
		return p, nil
	},
	Merge: func(left, right []float64) ([]float64, error) {
		for i := range left {
			left[i] += right[i]
		}
		return left, nil
	},
	// FinishShard moves the sum of a band to storage, so that no worker holds all of them.
	FinishShard: func(ctx context.Context, _ bandsParams, _ uint64, sum []float64) (string, error) {
		data, err := jobs.Vector[float64]{}.Encode(sum)
		if err != nil {
			return "", err
		}
		return jobs.PutSpill(ctx, data)
	},
	Finish: func(ctx context.Context, _ bandsParams, bands []string) (jobs.Attachment, error) {
		return jobs.AttachSpills(ctx, "sum.f64", bands)
	},
	Codec: jobs.Vector[float64]{},
}

// Fill computes a band of a vector in the memory of spare.
func (p bandsParams) Fill(_ context.Context, shard, partition uint64, spare []float64) ([]float64, error) {
	first := int(shard) * p.Band
	band := resize(spare, min(p.Band, p.Length-first))
	for i := range band {
		band[i] = 0
		if partition%uint64(first+i+1) == 0 {
			band[i] = 1
		}
	}
	return band, nil
}

// Map is not called, because the mapper has the method Fill, but a ShardMapper must have it.
func (p bandsParams) Map(ctx context.Context, shard, partition uint64) ([]float64, error) {
	return p.Fill(ctx, shard, partition, nil)
}

// PartialBytes lets a worker respect its memory limit from the first band on.
func (p bandsParams) PartialBytes() int64 { return 8 * int64(p.Band) }

// The sum of 1000 vectors of 6 numbers is computed in 3 shards. The attachment consists of the shards.
func ExampleSharded() {
	job := jobs.MustNewSharded(bands)
	params, err := job.Params(nil, "samples=1000", "length=6", "band=2")
	if err != nil {
		fmt.Println(err)
		return
	}
	done, err := jobs.Local{Slots: 2, Attempts: 1}.Run(context.Background(), job, params)
	if err != nil {
		fmt.Println(err)
		return
	}
	sum, err := jobs.Vector[float64]{}.Decode(done.Attachment.Data())
	fmt.Println(sum, err)
	// Output: [1000 500 334 250 200 167] <nil>
}

package bench

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs"
)

// VectorShards is the job [Vectors] in shards.
var VectorShards = jobs.Sharded[VectorShardsParams, []float64, VectorResult, VectorResult]{
	Name: "vector-shards", Version: "1", Summary: "adds up vectors in shards",
	Defaults: VectorShardsParams{Partitions: 1000, Length: 1_000_000, Shard: 16384},
	Plan: func(_ context.Context, p VectorShardsParams) (jobs.ShardedPlan, error) {
		return jobs.ShardedPlan{Shards: uint64(p.Length-1)/uint64(p.Shard) + 1, Partitions: p.Partitions}, nil
	},
	Open: func(_ context.Context, p VectorShardsParams, _ jobs.ShardedPlan) (jobs.ShardMapper[[]float64], error) {
		return vectorShards(p), nil
	},
	Merge: addVectors,
	FinishShard: func(_ context.Context, p VectorShardsParams, shard uint64, sum []float64) (VectorResult, error) {
		return describeVector(sum, shard*uint64(p.Shard)*8/checkedBlock)
	},
	Finish: func(_ context.Context, _ VectorShardsParams, shards []VectorResult) (r VectorResult, err error) {
		for _, s := range shards {
			r.add(s)
		}
		return r, nil
	},
	Codec: jobs.Vector[float64]{},
}

// VectorShardsParams are the parameters of the job VectorShards.
type VectorShardsParams struct {
	Partitions uint64 `json:"partitions" min:"1" max:"1000000000" help:"number of vectors"`
	Length     int    `json:"length" min:"1" max:"1000000000000" help:"numbers in a vector"`
	Shard      int    `json:"shard" min:"1" max:"250000000" help:"numbers in a shard"`
}

type vectorShards VectorShardsParams

func (m vectorShards) Map(ctx context.Context, shard, partition uint64) ([]float64, error) {
	return m.Fill(ctx, shard, partition, nil)
}

// PartialBytes implements [jobs.Sizer].
func (m vectorShards) PartialBytes() int64 { return 8 * int64(m.Shard) }

// Fill implements [jobs.ShardFiller].
func (m vectorShards) Fill(_ context.Context, shard, partition uint64, spare []float64) ([]float64, error) {
	from := int(shard) * m.Shard
	if length := min(m.Shard, m.Length-from); cap(spare) < length {
		spare = make([]float64, length)
	} else {
		spare = spare[:length]
	}
	fillVector(spare, partition, uint64(from))
	return spare, nil
}

// shardLoop computes the result in a plain loop, shard by shard, with the given number of goroutines.
func shardLoop(ctx context.Context, p VectorParams, shard, goroutines int) (json.RawMessage, error) {
	m := vectorShards{p.Partitions, p.Length, shard}
	shards := uint64(p.Length-1)/uint64(shard) + 1
	results := make([]VectorResult, goroutines)
	var loops sync.WaitGroup
	for i := range results {
		loops.Go(func() {
			var sum, value []float64
			n := uint64(goroutines)
			for s := shards * uint64(i) / n; s < shards*uint64(i+1)/n && ctx.Err() == nil; s++ {
				sum, _ = m.Fill(ctx, s, 0, sum) // errors are ignored, because none of these functions returns one
				for at := uint64(1); at < p.Partitions; at++ {
					value, _ = m.Fill(ctx, s, at, value)
					sum, _ = addVectors(sum, value)
				}
				r, _ := VectorShards.FinishShard(ctx, VectorShardsParams(m), s, sum)
				results[i].add(r)
			}
		})
	}
	loops.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	result, err := VectorShards.Finish(ctx, VectorShardsParams(m), results)
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

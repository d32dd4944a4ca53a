package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

// largePartials is the number of partitions of the job [LargeRounds].
const largePartials = 4

// LargeParams are the parameters of the job [LargeRounds].
type LargeParams struct {
	Length int    `json:"length" min:"1" max:"100000000" help:"numbers in the state and in each partial"`
	Rounds uint64 `json:"rounds" min:"1" help:"number of rounds"`
}

// LargeRounds is the job of [Rounds] whose state and partials are large. A round takes about as much time as reading and writing the
// memory of a partial for each partition and merge. The numbers are small integers, so the sums are exact in any order.
var LargeRounds = jobs.Rounds[LargeParams, []float64, []float64, VectorResult]{
	Name: "large-rounds", Version: "2", Summary: "adds up vectors in rounds",
	Defaults: LargeParams{Length: 10_000_000, Rounds: 10},
	Plan: func(context.Context, LargeParams) (jobs.Plan, error) {
		return jobs.Plan{Partitions: largePartials}, nil
	},
	Start: func(_ context.Context, p LargeParams, _ jobs.Plan) ([]float64, error) {
		state := make([]float64, p.Length)
		for i := range state {
			state[i] = float64(i & 0xffff)
		}
		return state, nil
	},
	Open: func(context.Context, LargeParams, jobs.Plan) (jobs.Rounder[[]float64, []float64], error) {
		return largeRounder{}, nil
	},
	Merge: Vectors.Merge,
	Next: func(_ context.Context, _ LargeParams, state, total []float64, _ uint64) (jobs.Step[[]float64], error) {
		nextLarge(state, total)
		return jobs.Step[[]float64]{State: state}, nil
	},
	MaxRounds: func(p LargeParams) uint64 { return p.Rounds },
	Finish: func(_ context.Context, _ LargeParams, state []float64) (VectorResult, error) {
		return describeVector(state, 0)
	},
	Codec: jobs.Vector[float64]{}, StateCodec: jobs.Vector[float64]{},
}

type largeRounder struct{}

func (largeRounder) Round(_ context.Context, state []float64) (jobs.Mapper[[]float64], error) {
	return largeMapper{state}, nil
}

type largeMapper struct{ state []float64 }

func (m largeMapper) Map(ctx context.Context, partition uint64) ([]float64, error) {
	return m.Fill(ctx, partition, nil)
}

// PartialBytes implements [jobs.Sizer].
func (m largeMapper) PartialBytes() int64 { return 8 * int64(len(m.state)) }

// Fill implements [jobs.Filler].
func (m largeMapper) Fill(_ context.Context, partition uint64, spare []float64) ([]float64, error) {
	if len(spare) != len(m.state) {
		spare = make([]float64, len(m.state))
	}
	for i, v := range m.state {
		spare[i] = v + float64((uint64(i)+partition)&7)
	}
	return spare, nil
}

// nextLarge changes the state to the one of the next round, which is at most 2^17.
func nextLarge(state, total []float64) {
	for i, v := range total {
		state[i] = float64(int64(v+state[i]) & 0x1ffff)
	}
}

// large measures the job and the loop.
func (c RoundsConfig) large(ctx context.Context, on *client.Client) (r LoopReport, err error) {
	p := LargeParams{Length: c.StateBytes / 8, Rounds: uint64(c.LargeRounds)}
	tell := func(done, all uint64) { c.Progress("large states", done, all) }
	data, rounds, err := runRounds(ctx, on, jobs.MustNewRounds(LargeRounds), tell, fmt.Sprint("length=", p.Length), fmt.Sprint("rounds=", p.Rounds))
	if err != nil {
		return r, err
	}
	var got VectorResult
	if err := json.Unmarshal(data, &got); err != nil {
		return r, err
	}
	want, took, err := largeLoop(ctx, p)
	if err != nil {
		return r, err
	}
	if got != want {
		return r, fmt.Errorf("the loop ends with %+v, the job with %+v", want, got)
	}
	return compared(rounds, took), nil
}

// largeLoop computes the result of the job, and the time of all rounds but the first one. Each goroutine adds up the partials of
// some partitions.
func largeLoop(ctx context.Context, p LargeParams) (result VectorResult, took time.Duration, err error) {
	state, _ := LargeRounds.Start(ctx, p, jobs.Plan{}) // neither Start nor Fill and Merge return errors
	sums := make([][]float64, min(largePartials, runtime.GOMAXPROCS(0)))
	spares := make([][]float64, len(sums))
	began := time.Now()
	for round := range p.Rounds {
		if ctx.Err() != nil {
			return result, 0, context.Cause(ctx)
		}
		if round == 1 {
			began = time.Now()
		}
		m := largeMapper{state}
		var running sync.WaitGroup
		for i := range sums {
			running.Go(func() {
				lo, hi := largePartials*i/len(sums), largePartials*(i+1)/len(sums)
				sums[i], _ = m.Fill(ctx, uint64(lo), sums[i])
				for at := lo + 1; at < hi; at++ {
					spares[i], _ = m.Fill(ctx, uint64(at), spares[i])
					sums[i], _ = LargeRounds.Merge(sums[i], spares[i])
				}
			})
		}
		running.Wait()
		for _, sum := range sums[1:] {
			sums[0], _ = LargeRounds.Merge(sums[0], sum)
		}
		nextLarge(state, sums[0])
	}
	took = time.Since(began)
	result, err = describeVector(state, 0)
	return result, took, err
}

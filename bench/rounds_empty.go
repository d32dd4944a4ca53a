package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

// EmptyParams are the parameters of the job [EmptyRounds].
type EmptyParams struct {
	Partitions uint64 `json:"partitions" min:"1" help:"number of partitions"`
	Rounds     uint64 `json:"rounds" min:"1" help:"number of rounds"`
}

// EmptyRounds is the job of [Rounds] whose rounds only count partitions.
var EmptyRounds = jobs.Rounds[EmptyParams, uint64, uint64, uint64]{
	Name: "empty-rounds", Version: "1", Summary: "counts partitions in rounds",
	Defaults: EmptyParams{Partitions: 1000, Rounds: 100},
	Plan: func(_ context.Context, p EmptyParams) (jobs.Plan, error) {
		return jobs.Plan{Partitions: p.Partitions}, nil
	},
	Start: func(context.Context, EmptyParams, jobs.Plan) (uint64, error) { return 0, nil },
	Open: func(context.Context, EmptyParams, jobs.Plan) (jobs.Rounder[uint64, uint64], error) {
		return emptyRounder{}, nil
	},
	Merge: func(left, right uint64) (uint64, error) { return left + right, nil },
	Next: func(_ context.Context, _ EmptyParams, state, total, _ uint64) (jobs.Step[uint64], error) {
		return jobs.Step[uint64]{State: state + total}, nil
	},
	MaxRounds: func(p EmptyParams) uint64 { return p.Rounds },
	Finish:    func(_ context.Context, _ EmptyParams, state uint64) (uint64, error) { return state, nil },
}

type emptyRounder struct{}

func (emptyRounder) Round(context.Context, uint64) (jobs.Mapper[uint64], error) {
	return emptyMapper{}, nil
}

type emptyMapper struct{}

func (emptyMapper) Map(context.Context, uint64) (uint64, error) { return 1, nil }

// empty measures rounds without work. It omits the first round, in which the workers open the job.
func (c RoundsConfig) empty(ctx context.Context, on *client.Client) (Spread, error) {
	job := jobs.MustNewRounds(EmptyRounds)
	tell := func(done, all uint64) { c.Progress("rounds without work", done, all) }
	result, rounds, err := runRounds(ctx, on, job, tell, fmt.Sprint("partitions=", c.Partitions), fmt.Sprint("rounds=", c.EmptyRounds))
	if err != nil {
		return Spread{}, err
	}
	if string(result) != fmt.Sprint(c.Partitions*c.EmptyRounds) || len(rounds) < 2 {
		return Spread{}, errors.New("the rounds without work have not counted all partitions")
	}
	for i := range rounds {
		rounds[i] *= 1e3
	}
	return spreadOf(rounds[1:]), nil
}

package cli_test

import (
	"context"
	"errors"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

// centre is the job with rounds of the tests. It moves a point halfway to the mean of the numbers below n in each round.
// All numbers of the job are exact.
var centre = jobs.Rounds[centreParams, float64, distances, float64]{
	Name: "centre", Version: "1", Summary: "the mean of numbers, by halves",
	Defaults: centreParams{N: 1000, Rounds: 5}, Measure: "distance",
	Plan:  func(_ context.Context, p centreParams) (jobs.Plan, error) { return jobs.Plan{Partitions: p.N}, nil },
	Start: func(context.Context, centreParams, jobs.Plan) (float64, error) { return 0, nil },
	Open: func(_ context.Context, p centreParams, _ jobs.Plan) (jobs.Rounder[float64, distances], error) {
		return p, nil
	},
	Merge: func(left, right distances) (distances, error) {
		return distances{left.Sum + right.Sum, left.Count + right.Count}, nil
	},
	Next: func(_ context.Context, p centreParams, state float64, total distances, round uint64) (step jobs.Step[float64], err error) {
		if round == p.Fail {
			return step, jobs.Permanent(errors.New("ouch"))
		}
		step.Value = total.Sum / total.Count
		step.State, step.Done = state+step.Value/2, step.Value < p.Enough
		return step, nil
	},
	Continue: func(_ context.Context, _ centreParams, _ jobs.Plan, earlier float64) (float64, error) {
		return earlier, nil
	},
	MaxRounds: func(p centreParams) uint64 { return p.Rounds },
	Finish:    func(_ context.Context, _ centreParams, state float64) (float64, error) { return state, nil },
}

type centreParams struct {
	N      uint64  `json:"n" min:"1" max:"1000000" help:"number of partitions"`
	Rounds uint64  `json:"rounds" min:"1" max:"100" help:"largest number of rounds"`
	Enough float64 `json:"enough" help:"distance below which the job is done"`
	Fail   uint64  `json:"fail" help:"round after which the job fails"`
	Sleep  float64 `json:"sleep" help:"seconds that each partition takes"`
}

// distances is the sum of the distances of numbers from a point.
type distances struct{ Sum, Count float64 }

func (p centreParams) Round(_ context.Context, state float64) (jobs.Mapper[distances], error) {
	return centreMapper{p, state}, nil
}

type centreMapper struct {
	params centreParams
	point  float64
}

func (m centreMapper) Map(ctx context.Context, partition uint64) (distances, error) {
	select {
	case <-time.After(time.Duration(m.params.Sleep * float64(time.Second))):
	case <-ctx.Done():
	}
	return distances{float64(partition) - m.point, 1}, ctx.Err()
}

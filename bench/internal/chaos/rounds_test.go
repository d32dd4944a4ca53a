//go:build unix

package chaos

import (
	"context"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

// walkParams are the parameters of a job with rounds, whose state goes from worker to worker.
type walkParams struct {
	Partitions uint64        `json:"partitions" min:"1" help:"number of partitions"`
	Rounds     uint64        `json:"rounds" min:"1" help:"number of rounds"`
	Length     int           `json:"length" min:"1" help:"number of floats in the state and in each partial"`
	Sleep      time.Duration `json:"sleep" help:"duration of a partition"`
}

// walk is a job with rounds. Each element of a state depends on all elements of the state before it.
var walk = jobs.Rounds[walkParams, []float64, []float64, float64]{
	Name: "walk", Version: "1", Summary: "follows a point through rounds",
	Defaults: walkParams{Partitions: 10, Rounds: 3, Length: 1},
	Plan: func(_ context.Context, p walkParams) (jobs.Plan, error) {
		return jobs.Plan{Partitions: p.Partitions}, nil
	},
	Start: func(_ context.Context, p walkParams, _ jobs.Plan) ([]float64, error) {
		return make([]float64, p.Length), nil
	},
	Open: func(_ context.Context, p walkParams, _ jobs.Plan) (jobs.Rounder[[]float64, []float64], error) {
		return walker{p}, nil
	},
	Merge: func(left, right []float64) ([]float64, error) {
		for i := range left {
			left[i] += right[i]
		}
		return left, nil
	},
	Next: func(_ context.Context, p walkParams, _, total []float64, _ uint64) (jobs.Step[[]float64], error) {
		for i := range total {
			total[i] /= float64(p.Partitions)
		}
		return jobs.Step[[]float64]{State: total}, nil
	},
	MaxRounds: func(p walkParams) uint64 { return p.Rounds },
	Finish:    func(_ context.Context, _ walkParams, state []float64) (float64, error) { return sum(state), nil },
}

type walker struct{ walkParams }

func (w walker) Round(_ context.Context, state []float64) (jobs.Mapper[[]float64], error) {
	return walkMapper{w.walkParams, sum(state) / float64(w.Length)}, nil
}

type walkMapper struct {
	walkParams
	mean float64 // of the elements of the state
}

func (m walkMapper) Map(ctx context.Context, partition uint64) ([]float64, error) {
	select {
	case <-time.After(m.Sleep):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	values := make([]float64, m.Length)
	for i := range values {
		values[i] = float64(0.9*m.mean) + 1/float64(partition+uint64(i)+1)
	}
	return values, nil
}

func sum(list []float64) (total float64) {
	for _, x := range list {
		total += x
	}
	return total
}

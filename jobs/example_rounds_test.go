package jobs_test

import (
	"context"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs"
)

type fitParams struct {
	Partitions uint64 `json:"partitions" min:"1" help:"partitions of 1000 points"`
	Rounds     uint64 `json:"rounds" min:"1" help:"largest number of rounds"`
}

type (
	line     struct{ Slope, Height float64 }              // state of a round: y = Slope·x + Height
	gradient struct{ Slope, Height, Loss, Count float64 } // partial: sums over points
)

// fit fits a line to points by gradient descent. Each round computes the gradient at the line of that round.
var fit = jobs.Rounds[fitParams, line, gradient, line]{
	Name: "fit", Version: "1", Summary: "line through points", Measure: "loss",
	Defaults: fitParams{Partitions: 100, Rounds: 1000},
	Plan: func(_ context.Context, p fitParams) (jobs.Plan, error) {
		return jobs.Plan{Partitions: p.Partitions}, nil
	},
	Start: func(context.Context, fitParams, jobs.Plan) (line, error) { return line{}, nil },
	Open: func(ctx context.Context, _ fitParams, _ jobs.Plan) (jobs.Rounder[line, gradient], error) {
		return points{jobs.NewCache(ctx, func(list [][2]float64) int64 { return 16 * int64(len(list)) })}, nil
	},
	Merge: func(l, r gradient) (gradient, error) {
		return gradient{l.Slope + r.Slope, l.Height + r.Height, l.Loss + r.Loss, l.Count + r.Count}, nil
	},
	Next: func(_ context.Context, _ fitParams, state line, total gradient, _ uint64) (jobs.Step[line], error) {
		rate, loss := 1.5/total.Count, total.Loss/total.Count
		next := line{state.Slope - float64(rate*total.Slope), state.Height - float64(rate*total.Height)}
		return jobs.Step[line]{State: next, Done: loss < 1e-12, Value: loss}, nil
	},
	MaxRounds: func(p fitParams) uint64 { return p.Rounds },
	Finish:    func(_ context.Context, _ fitParams, state line) (line, error) { return state, nil },
}

// points keeps the points of the partitions that have run in this process, so that later rounds do not load them.
type points struct{ *jobs.Cache[[][2]float64] }

func (p points) Round(_ context.Context, state line) (jobs.Mapper[gradient], error) {
	return pointsMapper{p, state}, nil
}

type pointsMapper struct {
	points
	line line
}

// Map rounds each product before it is added, so that all architectures compute the same bits.
func (m pointsMapper) Map(ctx context.Context, partition uint64) (g gradient, err error) {
	list, err := m.Get(ctx, partition, func(context.Context) ([][2]float64, error) { return load(partition), nil })
	for _, at := range list {
		off := float64(m.line.Slope*at[0]) + m.line.Height - at[1]
		g = gradient{g.Slope + float64(off*at[0]), g.Height + off, g.Loss + float64(off*off), g.Count + 1}
	}
	return g, err
}

// load stands for reading points from storage. Its points lie on the line 3·x - 1.
func load(partition uint64) (list [][2]float64) {
	for i := range 1000 {
		x := float64((uint64(i)+1000*partition)%997) / 997
		list = append(list, [2]float64{x, float64(3*x) - 1})
	}
	return list
}

// ExampleRounds runs a job with rounds, and prints what Next has measured in some of them.
func ExampleRounds() {
	job := jobs.MustNewRounds(fit)
	params, err := job.Params(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	done, err := jobs.Local{Slots: 2, Rounded: func(r jobs.Rounded) {
		if r.Round%40 == 1 {
			fmt.Printf("round %d: loss %.1e\n", r.Round, r.Value)
		}
	}}.Run(context.Background(), job, params)
	fmt.Println(done.Rounds, "rounds:", string(done.Result), err)
	// Output:
	// round 1: loss 1.0e+00
	// round 41: loss 2.3e-04
	// round 81: loss 5.1e-08
	// round 121: loss 1.2e-11
	// 133 rounds: {"Slope":2.9999975206422542,"Height":-0.9999982524334585} <nil>
}

package kmeans

import (
	"context"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
)

// next computes the state of the next round.
func next(ctx context.Context, p Params, s state, total tally, _ uint64) (jobs.Step[state], error) {
	switch s.Phase {
	case sampling:
		return begin(ctx, p, total)
	case writing:
		s.Parts = total.Parts
		return jobs.Step[state]{State: s, Done: true, Value: s.Inertia}, nil
	}
	before := s.Inertia
	s.Sizes, s.Inertia = total.Sizes, s.Spread.mean(total.Inertia, 1)
	s.Rounds++
	means := s.means(total)
	s.Converged = slices.Equal(means, s.Centres) || s.Rounds > 1 && before-s.Inertia <= p.Tolerance*before
	step := jobs.Step[state]{Value: s.Inertia}
	switch {
	case !s.Converged && s.Rounds < p.Rounds:
		s.Centres = means
	case p.Output != "":
		s.Phase = writing
	default:
		step.Done = true
	}
	step.State = s
	return step, nil
}

// begin computes the first centres. The number for people is the inertia of the sample, for as many rows as the input
// has.
func begin(ctx context.Context, p Params, total tally) (step jobs.Step[state], err error) {
	s := state{Phase: moving, Columns: total.Columns}
	var inertia float64 // of a row of the sample
	s.Centres, inertia, err = start(ctx, total.Sample, p.K, p.Seed)
	if err != nil {
		return step, err
	}
	farthest := 0.0 // bound of squared distances
	for _, x := range total.Largest {
		s.Scales = append(s.Scales, scaleOf(x))
		farthest += 4 * float64(x*x)
	}
	s.Spread = scaleOf(2 * farthest)
	return jobs.Step[state]{State: s, Value: inertia * float64(total.Rows)}, nil
}

// means returns the means of the rows of each centre. A centre without rows keeps its place.
func (s state) means(total tally) []float64 {
	means, width := slices.Clone(s.Centres), len(s.Scales)
	for i, one := range total.Sums {
		if n := total.Sizes[i/width]; n > 0 {
			means[i] = s.Scales[i%width].mean(one, n)
		}
	}
	return means
}

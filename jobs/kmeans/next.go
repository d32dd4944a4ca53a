package kmeans

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs"
)

// next computes the state of the next round.
func next(ctx context.Context, p Params, s state, total tally, _ uint64) (jobs.Step[state], error) {
	switch s.Phase {
	case sampling:
		return s.begin(ctx, p, total)
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

// again returns the state of round 1 of a job that continues from the centres of an earlier one.
func (s state) again(p Params) (state, error) {
	columns := names(p.Columns)
	switch {
	case len(s.Centres) == 0:
		return state{}, jobs.Permanent(errors.New("the earlier job has no centres yet"))
	case len(s.Centres) != p.K*len(s.Columns):
		return state{}, jobs.Permanent(fmt.Errorf("k=%d: the earlier job has %d clusters: want k=%[2]d", p.K, len(s.Centres)/len(s.Columns)))
	case len(columns) > 0 && !slices.Equal(columns, s.Columns):
		return state{}, jobs.Permanent(fmt.Errorf("columns=%s: the earlier job has the columns %s: want the same ones", p.Columns, strings.Join(s.Columns, ",")))
	}
	return state{Columns: s.Columns, Centres: s.Centres}, nil
}

// begin computes the first centres. The number for people is the inertia of the sample, for as many rows as the input
// has.
func (s state) begin(ctx context.Context, p Params, total tally) (step jobs.Step[state], err error) {
	var inertia float64 // of the sample, for each of its rows
	switch {
	case len(s.Centres) == 0:
		s.Columns = total.Columns
		s.Centres, inertia, err = start(ctx, total.Sample, p.K, p.Seed)
	case total.Rows == 0:
		err = jobs.Permanent(errors.New("the input has no rows"))
	case !slices.Equal(total.Columns, s.Columns):
		err = jobs.Permanent(fmt.Errorf("the input has the columns %s, and the earlier job %s: give those with the parameter columns", strings.Join(total.Columns, ","), strings.Join(s.Columns, ",")))
	default:
		inertia = improve(total.Sample, slices.Clone(s.Centres)) / rowsOf(total.Sample)
	}
	if err != nil {
		return step, err
	}
	s.Phase = moving
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

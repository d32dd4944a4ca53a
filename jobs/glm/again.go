package glm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs"
)

// model says what the coefficients of a state belong to.
type model struct {
	Family, Target string
	Intercept      bool
	Columns        []string
}

func (p Params) model() model { return model{p.Family, p.Target, p.Intercept, p.predictors()} }

// again returns the state of round 1 of a job that continues from the best coefficients of an earlier one. If the
// earlier job has ended before round 3, these are the coefficients with which it was to continue itself, if there are any.
func (s state) again(p Params) (state, error) {
	m := p.model()
	for _, c := range []struct{ name, got, earlier string }{
		{"family", m.Family, s.Model.Family},
		{"target", m.Target, s.Model.Target},
		{"intercept", strconv.FormatBool(m.Intercept), strconv.FormatBool(s.Model.Intercept)},
	} {
		if c.got != c.earlier {
			return state{}, jobs.Permanent(fmt.Errorf("%s=%s: the earlier job has %[1]s=%[3]s: want the same", c.name, c.got, c.earlier))
		}
	}
	if !slices.Equal(m.Columns, s.Model.Columns) {
		return state{}, jobs.Permanent(fmt.Errorf("columns=%s: the earlier job has the columns %s: want the same ones", p.Columns, strings.Join(s.Model.Columns, ",")))
	}
	next := state{Model: m, Earlier: s.Earlier}
	if s.Best != nil && !s.resumes() {
		next.Earlier, _ = s.unscaled()
	}
	return next, nil
}

// resumes reports whether the round computes the sums of the coefficients of an earlier job. This is round 3: the result
// needs the deviance of the null model, which round 2 computes.
func (s state) resumes() bool { return s.Earlier != nil && s.Fits == 1 }

// leave returns to the fit from the null model, because the coefficients of the earlier job fit worse, or their X'WX cannot
// be solved.
func (s state) leave() jobs.Step[state] {
	s.Beta, s.Earlier, s.Newton = s.Newton, nil, nil
	return jobs.Step[state]{State: s, Value: s.Best.Deviance}
}

// scaled returns coefficients in the units of the columns as those of scaled columns.
func (o overview) scaled(estimates []float64) []float64 {
	beta := slices.Clone(estimates)
	shift := len(beta) - len(o.Columns)
	for j, c := range o.Columns {
		beta[shift+j] *= power(c.Exponent)
		if shift > 0 {
			beta[0] += float64(c.Centre * estimates[shift+j])
		}
	}
	return beta
}

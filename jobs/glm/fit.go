package glm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs"
)

// state is the state of a round. Coefficients are those of scaled columns unless a field says otherwise.
type state struct {
	Model    model
	Earlier  []float64 // coefficients of an earlier job in the units of the columns, with which to continue; nil if there are none
	Newton   []float64 // coefficients of round 3 if Earlier are of no use
	Overview *overview // nil in the first round
	Beta     []float64 // coefficients whose sums the round computes
	Best     *fit      // the best coefficients so far; nil before the second round has ended
	Null     float64   // deviance of the null model
	Fits     uint64    // number of rounds that ended with a better fit
	Halvings int       // number of times that the current step was halved
	Done     bool      // the fit has converged
}

// fit is a model whose sums are known.
type fit struct {
	Beta      []float64
	Deviance  float64
	Objective float64   // deviance and penalty, which the fit minimises
	Inverse   []float64 // lower triangle of the inverse of X'WX and the penalty
}

// noise is the share of a deviance by which rounding errors may change it.
const noise = 1e-12

// maxHalvings is the number of halvings after which a step is too small to have an effect.
const maxHalvings = 40

// next computes the state of the next round.
func next(_ context.Context, p Params, s state, total partial, _ uint64) (jobs.Step[state], error) {
	if s.Overview == nil {
		o, err := overviewOf(p, total)
		if err != nil {
			return jobs.Step[state]{}, jobs.Permanent(err)
		}
		return jobs.Step[state]{State: s.begin(p, o), Value: o.Deviance}, nil
	}
	if total.Rows != s.Overview.Rows {
		return jobs.Step[state]{}, jobs.Permanent(fmt.Errorf("this round has read %d rows and the first one %d: the input or its columns have changed", total.Rows, s.Overview.Rows))
	}
	deviance := total.Sums[2].float(0)
	objective := deviance + p.penalty(s)
	if best := s.Best; best != nil && (total.Bad > 0 || objective-best.Objective > float64(max(p.Tolerance, noise)*(best.Objective+0.1))) {
		if s.resumes() {
			return s.leave(), nil
		}
		return halve(s)
	}
	if total.Bad > 0 {
		return jobs.Step[state]{}, jobs.Permanent(errors.New("the deviance of the null model is not finite: divide the target by a constant"))
	}
	return improve(p, s, total, deviance, objective)
}

// begin returns the state of round 2, with the null model: only the intercept, if there is one, is not 0.
func (s state) begin(p Params, o overview) state {
	next := state{Model: s.Model, Earlier: s.Earlier, Overview: &o, Beta: make([]float64, p.coefficients())}
	if p.Intercept {
		next.Beta[0] = familyOf(p.Family).linked(o.Mean)
	}
	return next
}

// penalty returns ridge·Σβ², where β is in the units of the columns.
func (p Params) penalty(s state) (sum float64) {
	for j, c := range s.Overview.Columns {
		b := s.Beta[len(s.Beta)-len(s.Overview.Columns)+j] * power(-c.Exponent)
		sum += float64(b * b)
	}
	return float64(p.Ridge * sum)
}

// halve halves the last step, which has made the deviance larger: the next round tries the coefficients in the middle
// between the best ones and the current ones (Marschner, glm2: fitting generalized linear models with convergence
// problems, 2011).
func halve(s state) (step jobs.Step[state], err error) {
	if s.Halvings++; s.Halvings > maxHalvings {
		return step, jobs.Permanent(fmt.Errorf("no step from round %d on makes the deviance smaller: give a larger tolerance, or fewer columns", s.Fits+1))
	}
	for j, b := range s.Best.Beta {
		s.Beta[j] = b + (s.Beta[j]-b)/2
	}
	return jobs.Step[state]{State: s, Value: s.Best.Deviance}, nil
}

// improve takes the round's coefficients as the best ones, and computes Newton's step from there. With the canonical
// link this step is that of iteratively reweighted least squares.
func improve(p Params, s state, total partial, deviance, objective float64) (step jobs.Step[state], err error) {
	n, columns := len(s.Beta), s.Overview.Columns
	information, score := make(triangle, n*(n+1)/2), make([]float64, n)
	for i := range information {
		information[i] = total.Sums[0].float(i)
	}
	for j := range score {
		score[j] = total.Sums[1].float(j)
	}
	for j, c := range columns {
		at := n - len(columns) + j
		ridge := p.Ridge * power(-2*c.Exponent)
		information.row(at)[at] += ridge
		score[at] -= float64(ridge * s.Beta[at])
	}
	l, first := factor(information, n)
	if first < n {
		if s.resumes() {
			return s.leave(), nil
		}
		if s.Best != nil && p.Family != "linear" {
			return step, jobs.Permanent(p.separated(first))
		}
		return step, jobs.Permanent(p.collinear(information, l, first))
	}
	change := l.solve(score)
	gain, moved, most := 0.0, 0.0, n-1
	for j, d := range change {
		gain += float64(d * score[j])
		moved += math.Abs(d)
		if j >= n-len(columns) && math.Abs(d) > math.Abs(change[most]) {
			most = j
		}
	}
	old, resumes := s.Best, s.resumes()
	s.Best = &fit{Beta: append([]float64(nil), s.Beta...), Deviance: deviance, Objective: objective, Inverse: l.inverse(n)}
	if old == nil {
		s.Null = deviance
	}
	s.Fits, s.Halvings = s.Fits+1, 0
	unit := math.Abs(objective) + 0.1
	s.Done = gain < float64(negligibleGain*unit) || old != nil && !resumes && math.Abs(old.Objective-objective) < float64(p.Tolerance*unit)
	if s.Done && p.Family != "linear" && moved > separatedMove {
		return step, jobs.Permanent(p.separated(most))
	}
	if !s.Done {
		for j, d := range change {
			s.Beta[j] += d
		}
	}
	if s.resumes() {
		s.Newton, s.Beta = s.Beta, s.Overview.scaled(s.Earlier)
	}
	return jobs.Step[state]{State: s, Done: s.Done, Value: deviance}, nil
}

const (
	// negligibleGain is a decrease of the deviance that a step predicts, as a share of the deviance, after which
	// another round is useless. The deviance grows with the square of the distance from the best coefficients, so
	// these are then known to about 11 digits of a standard error.
	negligibleGain = 1e-22
	// separatedMove tells steps that end from steps that do not. Scaled columns are at most 1 in magnitude, so no
	// linear predictor changes by more than the sum of a step's magnitudes. If the deviance has converged to a
	// minimum, that is far below 1. If it has no minimum, each step changes the linear predictor of some rows by
	// about 1.
	separatedMove = 0.5
)

// separated is the error of coefficients that grow without end.
func (p Params) separated(coefficient int) error {
	what := "a combination of columns tells rows with target 0 from others without an error (separation)"
	return fmt.Errorf("the fit does not end: the coefficient of %s grows in each round, because %s: leave a column out, or give a ridge such as ridge=1", p.quoted(coefficient), what)
}

// collinear is the error of a column that depends on those before it.
func (p Params) collinear(a, l triangle, first int) error {
	var names []string
	for j, factor := range l.combination(first) {
		if math.Abs(factor)*math.Sqrt(a.at(j, j)) > 1e-6*math.Sqrt(a.at(first, first)) {
			names = append(names, p.quoted(j))
		}
	}
	return fmt.Errorf("column %s is a linear combination of %s, so their coefficients cannot be told apart: leave one of them out, or give a ridge", p.quoted(first), strings.Join(names, ", "))
}

// quoted returns the name of a coefficient for an error.
func (p Params) quoted(coefficient int) string {
	if name := p.nameOf(coefficient); name != intercept {
		return fmt.Sprintf("%q", name)
	}
	return "the intercept"
}

// intercept is the name of the intercept's coefficient.
const intercept = "(intercept)"

// nameOf returns the name of a coefficient.
func (p Params) nameOf(coefficient int) string {
	if !p.Intercept {
		return p.predictors()[coefficient]
	}
	if coefficient == 0 {
		return intercept
	}
	return p.predictors()[coefficient-1]
}

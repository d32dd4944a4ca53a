package glm

import (
	"context"
	"encoding/json"
	"errors"
	"math"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/internal/portable"
)

// Result is a fitted model. Its coefficients are a table like that of the job scan.
type Result struct {
	Family       string   `json:"family"`
	Link         string   `json:"link"`
	Deviance     float64  `json:"deviance"`
	NullDeviance float64  `json:"null_deviance"` // without the columns
	Dispersion   float64  `json:"dispersion"`    // deviance divided by the degrees of freedom if the family is linear, otherwise 1
	AIC          *float64 `json:"aic"`           // null if the fit is exact
	RowsRead     uint64   `json:"rows_read"`
	RowsSkipped  uint64   `json:"rows_skipped"`
	Freedom      uint64   `json:"degrees_of_freedom"` // number of rows less the number of coefficients
	Iterations   uint64   `json:"iterations"`         // number of steps from the null model; the coefficients of an earlier job are one
	Converged    bool     `json:"converged"`          // false if the largest number of rounds ended the fit

	Columns      []Column      `json:"columns"` // of the table of coefficients
	Coefficients []Coefficient `json:"rows"`
}

// Column is a column of the table of coefficients.
type Column struct {
	Name string `json:"name"`
}

// Coefficient is a row of the table. Statistic and P are null if the standard error is 0.
type Coefficient struct {
	Name      string
	Estimate  float64
	Error     float64  // standard error of the estimate
	Statistic *float64 // estimate divided by the standard error: t if the family is linear, otherwise z
	P         *float64 // probability of a statistic that is at least as far from 0 if the coefficient is 0
}

// MarshalJSON returns the cells of the row.
func (c Coefficient) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{c.Name, c.Estimate, c.Error, c.Statistic, c.P})
}

var errNoFit = jobs.Permanent(errors.New("the time was up before the second round, which makes the first fit: give the job more time"))

// finish computes the result from the last state.
func finish(_ context.Context, p Params, s state, totals dataset.Totals) (Result, error) {
	if s.Best == nil {
		return Result{}, errNoFit
	}
	f := familyOf(p.Family)
	n := len(s.Best.Beta)
	r := Result{
		Family: f.name, Link: f.link, Deviance: s.Best.Deviance, NullDeviance: s.Null, Dispersion: 1,
		RowsRead: s.Overview.Rows, RowsSkipped: totals.Skipped, Freedom: s.Overview.Rows - uint64(n), Iterations: s.Fits - 1, Converged: s.Done,
		Columns: []Column{{"coefficient"}, {"estimate"}, {"standard error"}, {f.statistic}, {"p"}},
	}
	rows := float64(r.RowsRead)
	aic := r.Deviance + s.Overview.Constant + 2*float64(n)
	if f.name == "linear" {
		r.Dispersion = r.Deviance / float64(r.Freedom)
		if r.Deviance > 0 {
			aic = float64(rows*(portable.Log(float64(2*math.Pi*r.Deviance)/rows)+1)) + 2*float64(n+1)
		} else {
			aic = math.Inf(-1)
		}
	}
	if finite(aic) {
		r.AIC = &aic
	}
	estimates, errors := s.unscaled()
	for j, estimate := range estimates {
		c := Coefficient{Name: p.nameOf(j), Estimate: estimate, Error: float64(errors[j] * math.Sqrt(r.Dispersion))}
		if ratio := c.Estimate / c.Error; finite(ratio) {
			tails := portable.NormalTails(ratio)
			if f.name == "linear" {
				tails = portable.StudentTails(ratio, float64(r.Freedom))
			}
			c.Statistic, c.P = &ratio, &tails
		}
		r.Coefficients = append(r.Coefficients, c)
	}
	return r, nil
}

// unscaled returns the coefficients of the best fit, and their standard errors for a dispersion of 1, in the units of
// the columns.
func (s state) unscaled() (estimates, errors []float64) {
	best, columns := s.Best, s.Overview.Columns
	n := len(best.Beta)
	shift := n - len(columns)
	inverse := triangle(best.Inverse)
	estimates, errors = make([]float64, n), make([]float64, n)
	for j, c := range columns {
		estimates[shift+j] = best.Beta[shift+j] * power(-c.Exponent)
		errors[shift+j] = math.Sqrt(inverse.at(shift+j, shift+j)) * power(-c.Exponent)
	}
	if shift == 0 {
		return estimates, errors
	}
	estimates[0] = best.Beta[0]
	factors := []float64{1} // the intercept is the sum of the scaled coefficients times these factors
	for _, c := range columns {
		factors = append(factors, -c.Centre*power(-c.Exponent))
	}
	variance := 0.0
	for i, a := range factors {
		if i > 0 {
			estimates[0] += float64(a * best.Beta[i])
		}
		for j, b := range factors[:i+1] {
			product := float64(float64(a*b) * inverse.at(i, j))
			if variance += product; j < i {
				variance += product
			}
		}
	}
	errors[0] = math.Sqrt(variance)
	return estimates, errors
}

func finite(x float64) bool { return x-x == 0 }

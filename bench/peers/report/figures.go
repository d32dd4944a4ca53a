// Package report computes what is said of repeated measurements, and prints it as
// a table for people, as Markdown and as JSON.
package report

import (
	"math"
	"slices"
)

// Figures are the measurements of one thing, in no order.
type Figures []float64

// Median is the middle one, or the mean of the two in the middle; NaN of none.
func (f Figures) Median() float64 {
	if len(f) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(f))
	half := len(s) / 2
	if len(s)%2 == 0 {
		return (s[half-1] + s[half]) / 2
	}
	return s[half]
}

// Quantile is the smallest measurement that a share of all do not exceed, such as
// 0.95 of them; NaN of none.
func (f Figures) Quantile(share float64) float64 {
	if len(f) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(f))
	return s[max(0, int(math.Ceil(share*float64(len(s))))-1)]
}

// Least and Most are NaN of none.
func (f Figures) Least() float64 { return f.Quantile(0) }

// Most is the largest.
func (f Figures) Most() float64 { return f.Quantile(1) }

// Ratios are f's measurements by those of g, one by one.
func Ratios(f, g Figures) Figures {
	ratios := make(Figures, 0, min(len(f), len(g)))
	for i := range min(len(f), len(g)) {
		ratios = append(ratios, f[i]/g[i])
	}
	return ratios
}

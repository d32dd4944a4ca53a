// Package report describes repeated measurements, and formats them as tables of text, Markdown and
// JSON.
package report

import "github.com/bellwether-compute/bellwether/bench"

// Figures are measurements of one value, in any order. The methods return NaN if the list is empty.
type Figures []float64

// Median returns the median, computed as in package bench.
func (f Figures) Median() float64 { return bench.Median(f) }

// Quantile returns the smallest measurement that is greater than or equal to the given share of all
// measurements.
func (f Figures) Quantile(share float64) float64 { return bench.Quantile(f, share) }

// Least returns the smallest measurement.
func (f Figures) Least() float64 { return f.Quantile(0) }

// Most returns the largest measurement.
func (f Figures) Most() float64 { return f.Quantile(1) }

// Ratios returns each measurement of f divided by the measurement of g at the same
// index.
func Ratios(f, g Figures) Figures {
	ratios := make(Figures, 0, min(len(f), len(g)))
	for i := range min(len(f), len(g)) {
		ratios = append(ratios, f[i]/g[i])
	}
	return ratios
}

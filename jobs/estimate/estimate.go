package estimate

import (
	"math"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/internal/portable"
)

// Interval is an estimate with a confidence interval. A definition's Estimate can return it. It is shown in
// tables, and on the page as a curve with a band.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Error float64 `json:"error"` // standard error of the value
}

// Moments are the number and the mean of numbers, and the sum of their squared distances from the mean. A partial
// may contain Moments.
type Moments struct {
	Count   uint64  `cbor:"1,keyasint" json:"count"`
	Mean    float64 `cbor:"2,keyasint" json:"mean"`
	Squares float64 `cbor:"3,keyasint" json:"squares"`
}

// Add adds a number by the method in Welford, Note on a method for calculating corrected sums of squares and
// products, Technometrics 4, 1962.
func (m *Moments) Add(x float64) {
	m.Count++
	before := x - m.Mean
	m.Mean += before / float64(m.Count)
	m.Squares += float64(before * (x - m.Mean))
}

// Merge returns the moments of the numbers of both operands, by the pairwise formula in Chan, Golub, LeVeque,
// Updating formulae and a pairwise algorithm for computing sample variances, 1979.
func (m Moments) Merge(right Moments) Moments {
	if m.Count == 0 || right.Count == 0 {
		if m.Count == 0 {
			return right
		}
		return m
	}
	l, r := float64(m.Count), float64(right.Count)
	share := r / (l + r)
	distance := right.Mean - m.Mean
	return Moments{
		Count:   m.Count + right.Count,
		Mean:    m.Mean + float64(distance*share),
		Squares: m.Squares + right.Squares + float64(float64(distance*distance)*float64(l*share)),
	}
}

// StandardError returns the standard error of the mean, or 0 for less than two numbers.
func (m Moments) StandardError() float64 {
	n := float64(m.Count)
	if n < 2 {
		return 0
	}
	return math.Sqrt(m.Squares / (n - 1) / n)
}

// Interval returns the interval of the mean by the normal approximation, which needs some hundred numbers. The
// confidence is above 0 and below 1, such as 0.95.
func (m Moments) Interval(confidence float64) Interval {
	return Normal(m.Mean, m.StandardError(), confidence)
}

// Normal returns the interval of a value that is normally distributed with a standard error.
func Normal(value, standardError, confidence float64) Interval {
	half := float64(deviations(confidence) * standardError)
	return Interval{value, value - half, value + half, standardError}
}

// Proportion returns the interval of a proportion after hits in trials, by Wilson, Probable inference, the law of
// succession, and statistical inference, JASA 22, 1927. The interval is also good for few or no hits. Without a
// trial it is 0 to 1.
func Proportion(hits, trials uint64, confidence float64) Interval {
	if trials == 0 {
		return Interval{Low: 0, High: 1}
	}
	n := float64(trials)
	p := float64(hits) / n
	z := deviations(confidence)
	zz := float64(z * z)
	variance := float64(p*(1-p)) / n
	middle := (p + zz/(2*n)) / (1 + zz/n)
	half := float64(z*math.Sqrt(variance+zz/(4*n)/n)) / (1 + zz/n)
	return Interval{p, max(0, min(p, middle-half)), min(1, max(p, middle+half)), math.Sqrt(variance)}
}

// deviations returns the half width of a confidence interval in standard deviations.
func deviations(confidence float64) float64 { return -portable.Quantile((1 - confidence) / 2) }

// Look returns the confidence for the interval of the rung n so that the intervals of all rungs of a job contain
// the true values at once with at least the given confidence. The k-th rung gets the share 1/(k·(k+1)) of the error
// budget 1-confidence. These shares add up to less than 1.
func Look(confidence float64, n uint64) float64 {
	k := float64(engine.RungNumber(n))
	return 1 - (1-confidence)/float64(k*(k+1))
}

package bench

import (
	"math"
	"slices"
)

// Spread summarizes several measurements of one value, in the unit of the value. Without
// measurements, all fields are 0. At least 95 % of the measurements are as good as P95 or better.
// Worst is the largest measurement or, for shares of throughput, the smallest measurement.
type Spread struct {
	Median float64 `json:"median"`
	P95    float64 `json:"p95"` // 95th percentile by the nearest-rank method
	Worst  float64 `json:"worst"`
}

// spreadOf summarizes values that are better if they are smaller.
func spreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	return Spread{Median: Median(values), P95: Quantile(values, 0.95), Worst: slices.Max(values)}
}

// spreadOfShares summarizes values that are better if they are larger.
func spreadOfShares(values []float64) Spread {
	negated := make([]float64, len(values))
	for i, v := range values {
		negated[i] = -v
	}
	s := spreadOf(negated)
	return Spread{Median: 0 - s.Median, P95: 0 - s.P95, Worst: 0 - s.Worst}
}

// Quantile returns the smallest value v for which at least the given share (0 to 1) of all values
// is less than or equal to v. Quantile returns NaN if the list is empty.
func Quantile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}

// Median returns the middle value, or the mean of the two middle values. Median returns NaN if the
// list is empty.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

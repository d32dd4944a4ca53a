package bench

import (
	"math"
	"slices"
)

// Spread sums up several measurements of one thing. What has the unit of the
// measurements is 0 where there were none.
//
// Where large values are bad, 95 % of them do not exceed P95, and Worst is the
// largest. Where small ones are bad, as with shares of throughput, 95 % are not below
// P95, and Worst is the smallest.
type Spread struct {
	Median float64 `json:"median"`
	P95    float64 `json:"p95"` // by the nearest rank: one of the values
	Worst  float64 `json:"worst"`
}

// spreadOf sums up values of which large ones are bad.
func spreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	return Spread{Median: median(sorted), P95: sorted[rank(0.95, len(sorted))], Worst: sorted[len(sorted)-1]}
}

// spreadOfShares sums up values of which small ones are bad.
func spreadOfShares(values []float64) Spread {
	negated := make([]float64, len(values))
	for i, v := range values {
		negated[i] = -v
	}
	s := spreadOf(negated)
	return Spread{Median: 0 - s.Median, P95: 0 - s.P95, Worst: 0 - s.Worst}
}

// rank is the index of a quantile among n sorted values, by the nearest rank.
func rank(quantile float64, n int) int {
	return max(0, int(math.Ceil(quantile*float64(n)))-1)
}

// median is the middle one of the values, or the mean of the two in the middle; 0
// where there are none. It leaves them as they are.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

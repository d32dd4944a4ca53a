package kmeans

import (
	"context"
	"fmt"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
)

const (
	// work bounds the number of differences of coordinates that the clustering of the sample computes, so that it
	// takes seconds.
	work      = 1 << 32
	maxStarts = 10
	maxPasses = 30 // passes over the sample in each start
)

// start clusters a sample and returns the first centres, with the mean squared distance of the rows of the sample.
func start(ctx context.Context, sample []sampled, k int, seed uint64) (centres []float64, spread float64, err error) {
	if len(sample) < k {
		return nil, 0, jobs.Permanent(fmt.Errorf("k=%d: the input has only %d different rows: want at most as many clusters", k, len(sample)))
	}
	pass := len(sample) * k * len(sample[0].Row)
	starts := max(1, min(maxStarts, work/(pass*(maxPasses+1))))
	passes := max(1, min(maxPasses, work/(starts*pass)))
	random := seed
	for i := range starts {
		list := draw(sample, k, &random)
		last := 0.0
		for range passes {
			if err := ctx.Err(); err != nil {
				return nil, 0, err
			}
			before := last
			if last = improve(sample, list); last == before {
				break
			}
		}
		if i == 0 || last < spread {
			centres, spread = list, last
		}
	}
	return sorted(centres, len(sample[0].Row)), spread / rowsOf(sample), nil
}

// rowsOf returns the number of rows of a sample.
func rowsOf(sample []sampled) float64 {
	rows := uint64(0)
	for _, s := range sample {
		rows += s.Count
	}
	return float64(rows)
}

// draw draws k rows of a sample, each with a probability in proportion to the squared distance to the nearest row
// that was drawn before.
func draw(sample []sampled, k int, random *uint64) (centres []float64) {
	weights := make([]float64, len(sample)) // count of the row · squared distance
	for i, s := range sample {
		weights[i] = float64(s.Count)
	}
	for len(centres) < k*len(sample[0].Row) {
		total := 0.0
		for _, w := range weights {
			total += w
		}
		*random++
		left := float64(mix(*random)>>11) * 0x1p-53 * total
		next := -1
		for i, w := range weights {
			if w > 0 {
				next = i // the last one if rounding leaves a rest
				if left -= w; left < 0 {
					break
				}
			}
		}
		if next < 0 { // squares of distances have become 0
			next = slices.IndexFunc(sample, func(s sampled) bool { return !contains(centres, s.Row) })
		}
		first := len(centres) == 0
		centres = append(centres, sample[next].Row...)
		for i, s := range sample {
			if w := float64(float64(s.Count) * distance(s.Row, sample[next].Row)); first || w < weights[i] {
				weights[i] = w
			}
		}
	}
	return centres
}

// contains reports whether a row is one of the centres.
func contains(centres, row []float64) bool {
	for c := range slices.Chunk(centres, len(row)) {
		if slices.Equal(c, row) {
			return true
		}
	}
	return false
}

// improve moves each centre to the mean of its rows in the sample, and returns the inertia before. A centre without
// rows keeps its place.
func improve(sample []sampled, centres []float64) (inertia float64) {
	width := len(sample[0].Row)
	sums, counts := make([]float64, len(centres)), make([]float64, len(centres)/width)
	for _, s := range sample {
		c, squared := Nearest(s.Row, centres)
		n := float64(s.Count)
		inertia += float64(n * squared)
		counts[c] += n
		for j, x := range s.Row {
			sums[c*width+j] += float64(n * x)
		}
	}
	for c, n := range counts {
		if n == 0 {
			continue
		}
		for j := range width {
			centres[c*width+j] = sums[c*width+j] / n
		}
	}
	return inertia
}

// sorted returns centres in the order of their columns.
func sorted(centres []float64, width int) []float64 {
	list := slices.Collect(slices.Chunk(centres, width))
	slices.SortFunc(list, slices.Compare)
	return slices.Concat(list...)
}

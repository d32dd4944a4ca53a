package estimate

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"pgregory.net/rapid"
)

// TestMergeIsAccurate checks the merged moments for any order of merges, and for a mean that is
// much larger than the deviation.
func TestMergeIsAccurate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shift := rapid.SampledFrom([]float64{0, 1, 1e6}).Draw(t, "shift")
		xs := rapid.SliceOfN(rapid.Float64Range(-1, 1), 2, 100).Draw(t, "xs")
		cut := rapid.IntRange(0, len(xs)).Draw(t, "cut")
		var left, right Moments
		var sum, squares float64
		for i, x := range xs {
			if i < cut {
				left.Add(x + shift)
			} else {
				right.Add(x + shift)
			}
			sum += x
		}
		mean := sum / float64(len(xs))
		for _, x := range xs {
			squares += (x - mean) * (x - mean)
		}
		got := left.Merge(right)
		if got.Count != uint64(len(xs)) || math.Abs(got.Mean-shift-mean) > 1e-14*(1+shift) || math.Abs(got.Squares-squares) > 1e-13*(1+shift)*float64(len(xs)) {
			t.Fatalf("got %+v, want mean %v and squares %v", got, mean+shift, squares)
		}
	})
	if got := (Moments{}).Merge(Moments{}); got != (Moments{}) {
		t.Errorf("nothing merged with nothing: %+v", got)
	}
}

func TestIntervalOfAMean(t *testing.T) {
	var m Moments
	for _, x := range []float64{1, 2, 3, 4} {
		m.Add(x)
	}
	got := m.Interval(0.95)
	e := math.Sqrt(5.0 / 3 / 4)
	if got.Value != 2.5 || math.Abs(got.Error-e) > 1e-15 || math.Abs(got.High-2.5-1.959963984540054*e) > 1e-14 || math.Abs(got.High+got.Low-5) > 1e-14 {
		t.Errorf("got %+v", got)
	}
	for _, few := range []Moments{{}, {Count: 1, Mean: 7}} {
		if got := few.Interval(0.95); got.Error != 0 || got.Low != few.Mean || got.High != few.Mean {
			t.Errorf("%d numbers: got %+v", few.Count, got)
		}
	}
}

// TestIntervalOfAProportion uses an example of Wilson's interval computed by hand: 15 of 50 at 95 %. The bounds
// are the solutions of |p - 0.3| = z·sqrt(p(1-p)/50).
func TestIntervalOfAProportion(t *testing.T) {
	got := Proportion(15, 50, 0.95)
	if math.Abs(got.Low-0.191036) > 1e-6 || math.Abs(got.High-0.437504) > 1e-6 || got.Value != 0.3 {
		t.Errorf("15 of 50: got %+v", got)
	}
	for _, c := range [][2]uint64{{0, 0}, {0, 1}, {1, 1}, {0, 1000}, {1000, 1000}} {
		got := Proportion(c[0], c[1], 0.99)
		if _, err := json.Marshal(got); err != nil || got.Low < 0 || got.High > 1 || got.Low > got.Value || got.High < got.Value || got.Low == got.High {
			t.Errorf("%d of %d: got %+v, %v", c[0], c[1], got, err)
		}
	}
}

// TestLooksShareTheErrorBudget checks that the errors of all rungs add up to at most the whole error.
func TestLooksShareTheErrorBudget(t *testing.T) {
	sum := 0.0
	for n := engine.NextRung(0); n <= engine.MaxPartitions; n = engine.NextRung(n) {
		sum += 1 - Look(0.95, n)
	}
	if sum > 0.05 || sum < 0.0497 {
		t.Errorf("all rungs have the error %v, want just below 0.05", sum)
	}
	if wide := deviations(Look(0.95, engine.LastRung(1_000_000))); wide > 4.5 {
		t.Errorf("an interval at the last rung of a million partitions has %.2f standard errors on each side, want at most 4.5", wide)
	}
}

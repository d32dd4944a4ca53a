package bench

import (
	"math"
	"testing"
)

func TestSpread(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for _, c := range []struct {
		name   string
		values []float64
		want   Spread
	}{
		{"none", nil, Spread{}},
		{"one", []float64{7}, Spread{7, 7, 7}},
		{"even number", []float64{4, 1, 3, 2}, Spread{2.5, 4, 4}},
		{"hundred", hundred, Spread{50.5, 95, 100}},
	} {
		if got := spreadOf(c.values); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	if hundred[0] != 100 {
		t.Error("the values were sorted in place")
	}
}

func TestSpreadOfShares(t *testing.T) {
	values := []float64{0.75, 1, 0.5, 0.75}
	if got, want := spreadOfShares(values), (Spread{0.75, 0.5, 0.5}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := spreadOfShares(nil); got != (Spread{}) {
		t.Errorf("of none: got %v, want zeros", got)
	}
}

func TestMedianAndQuantile(t *testing.T) {
	values := []float64{5, 1, 4, 2, 3, 9, 8, 7, 6, 10}
	for name, got := range map[string][2]float64{
		"median of ten": {Median(values), 5.5}, "median of five": {Median(values[:5]), 3}, "median of one": {Median(values[:1]), 5},
		"p95": {Quantile(values, 0.95), 10}, "p90": {Quantile(values, 0.9), 9}, "least": {Quantile(values, 0), 1}, "most": {Quantile(values, 1), 10},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: got %v, want %v", name, got[0], got[1])
		}
	}
	if values[0] != 5 {
		t.Error("the values were sorted in place")
	}
	if !math.IsNaN(Median(nil)) || !math.IsNaN(Quantile(nil, 1)) {
		t.Error("without values: want NaN")
	}
}

package bench

import "testing"

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

package portable

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestQuantileKnownValues uses three values that Wichura published for checking implementations.
func TestQuantileKnownValues(t *testing.T) {
	for p, want := range map[float64]float64{
		0.25: -0.6744897501960817, 0.001: -3.090232306167814, 1e-20: -9.262340089798408,
		0.975: 1.959963984540054, 0.5: 0,
	} {
		if got := Quantile(p); math.Abs(got-want) > 5e-16*math.Abs(want) {
			t.Errorf("Quantile(%v) = %.17g, want %.17g", p, got, want)
		}
	}
}

// TestQuantileInvertsTheDistribution checks that Quantile inverts the distribution function, which
// is computed with math.Erfc.
func TestQuantileInvertsTheDistribution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.OneOf(
			rapid.Float64Range(0x1p-53, 1-0x1p-53),
			rapid.Float64Range(1e-300, 1e-5),
		).Draw(t, "p")
		z := Quantile(p)
		// A relative error of z causes a relative error of p that is about z² times as large. The
		// tolerance includes a few units in the last place for the rounding errors of both
		// functions.
		tolerance := (8 + 8*z*z) * 0x1p-52
		if z <= 0 {
			if back := math.Erfc(-z/math.Sqrt2) / 2; math.Abs(back-p) > tolerance*p {
				t.Fatalf("Quantile(%v) = %v, whose probability is %v", p, z, back)
			}
		} else if back := math.Erfc(z/math.Sqrt2) / 2; math.Abs(back-(1-p)) > tolerance*(1-p)+0x1p-53 {
			t.Fatalf("Quantile(%v) = %v, whose probability is 1-%v", p, z, back)
		}
	})
}

func TestExpAndLog(t *testing.T) {
	for x, want := range map[float64]float64{
		0: 1, math.Inf(-1): 0, -746: 0, 710: math.Inf(1), math.Inf(1): math.Inf(1),
	} {
		if got := Exp(x); got != want {
			t.Errorf("Exp(%v) = %v, want %v", x, got, want)
		}
	}
	if !math.IsNaN(Exp(math.NaN())) || Log(1) != 0 {
		t.Error("Exp(NaN) is a number, or Log(1) is not 0")
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.OneOf(rapid.Float64Range(-5, 5), rapid.Float64Range(-708, 709.7)).Draw(t, "x")
		if got, want := Exp(x), math.Exp(x); !close(got, want) {
			t.Fatalf("Exp(%v) = %v, want %v", x, got, want)
		}
		y := rapid.OneOf(rapid.Float64Range(0.5, 2), rapid.Float64Range(0x1p-1022, math.MaxFloat64)).Draw(t, "y")
		if got, want := Log(y), math.Log(y); !close(got, want) {
			t.Fatalf("Log(%v) = %v, want %v", y, got, want)
		}
	})
}

func TestPow(t *testing.T) {
	special := []float64{0, math.Copysign(0, -1), 1, -1, 2, -3, 0.5, -0.5, 1e300, 0.3, -1.6, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, x := range special {
		for _, y := range special {
			got, want := Pow(x, y), math.Pow(x, y)
			if got != want && !within(got, want, 1e-12) && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("Pow(%v, %v) = %v, want %v", x, y, got, want)
			}
		}
	}
	for root := range 1000 {
		x := float64(root)
		if got := Pow(x*x, 0.5); got != x {
			t.Errorf("Pow(%v, 0.5) = %v, want %v", x*x, got, x)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		x, y := rapid.Float64Range(1e-9, 1e9).Draw(t, "x"), rapid.Float64Range(-20, 20).Draw(t, "y")
		if got, want := Pow(x, y), math.Pow(x, y); !within(got, want, (8+2*math.Abs(math.Log(x)))*0x1p-52) {
			t.Fatalf("Pow(%v, %v) = %v, want %v", x, y, got, want)
		}
	})
}

// close reports whether two values differ by at most two units in the last place, one for each of
// two functions.
func close(a, b float64) bool { return math.Abs(a-b) <= 2*0x1p-52*math.Abs(b) }

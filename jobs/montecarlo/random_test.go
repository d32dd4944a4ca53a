package montecarlo

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestPhiloxKnownAnswers uses the known answers for Philox4x32-10 in the file kat_vectors of the
// Random123 library, version 1.14.
func TestPhiloxKnownAnswers(t *testing.T) {
	const all = 0xffffffff
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{
			[4]uint32{},
			[2]uint32{},
			[4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
		},
		{
			[4]uint32{all, all, all, all},
			[2]uint32{all, all},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		},
		{
			[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			[2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		if got := philox(c.counter, c.key); got != c.want {
			t.Errorf("philox(%x, %x) = %x, want %x", c.counter, c.key, got, c.want)
		}
	}
}

func TestUniformStaysInside(t *testing.T) {
	const all = 0xffffffff
	if low, high := uniform(0, 0), uniform(all, all); low != 0x1p-53 || high != 1-0x1p-53 {
		t.Errorf("uniform numbers go from %v to %v", low, high)
	}
	if got := uniform(0x80000000, 0); got != 0.5+0x1p-53 {
		t.Errorf("the middle is %v", got)
	}
}

// TestQuantileKnownValues uses three values that Wichura published for checking implementations.
func TestQuantileKnownValues(t *testing.T) {
	for p, want := range map[float64]float64{
		0.25: -0.6744897501960817, 0.001: -3.090232306167814, 1e-20: -9.262340089798408,
		0.975: 1.959963984540054, 0.5: 0,
	} {
		if got := quantile(p); math.Abs(got-want) > 5e-16*math.Abs(want) {
			t.Errorf("quantile(%v) = %.17g, want %.17g", p, got, want)
		}
	}
}

// TestQuantileInvertsTheDistribution checks that quantile inverts the distribution function, which
// is computed with math.Erfc.
func TestQuantileInvertsTheDistribution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.OneOf(
			rapid.Float64Range(0x1p-53, 1-0x1p-53),
			rapid.Float64Range(1e-300, 1e-5),
		).Draw(t, "p")
		z := quantile(p)
		// A relative error of z causes a relative error of p that is about z² times as large. The
		// tolerance includes a few units in the last place for the rounding errors of both
		// functions.
		tolerance := (8 + 8*z*z) * 0x1p-52
		if z <= 0 {
			if back := math.Erfc(-z/math.Sqrt2) / 2; math.Abs(back-p) > tolerance*p {
				t.Fatalf("quantile(%v) = %v, whose probability is %v", p, z, back)
			}
		} else if back := math.Erfc(z/math.Sqrt2) / 2; math.Abs(back-(1-p)) > tolerance*(1-p)+0x1p-53 {
			t.Fatalf("quantile(%v) = %v, whose probability is 1-%v", p, z, back)
		}
	})
}

func TestExpAndLog(t *testing.T) {
	for x, want := range map[float64]float64{
		0: 1, math.Inf(-1): 0, -746: 0, 710: math.Inf(1), math.Inf(1): math.Inf(1),
	} {
		if got := exp(x); got != want {
			t.Errorf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	if !math.IsNaN(exp(math.NaN())) || log(1) != 0 {
		t.Error("exp(NaN) is a number, or log(1) is not 0")
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.OneOf(rapid.Float64Range(-5, 5), rapid.Float64Range(-708, 709.7)).Draw(t, "x")
		if got, want := exp(x), math.Exp(x); !close(got, want) {
			t.Fatalf("exp(%v) = %v, want %v", x, got, want)
		}
		y := rapid.OneOf(rapid.Float64Range(0.5, 2), rapid.Float64Range(0x1p-1022, math.MaxFloat64)).Draw(t, "y")
		if got, want := log(y), math.Log(y); !close(got, want) {
			t.Fatalf("log(%v) = %v, want %v", y, got, want)
		}
	})
}

// close reports whether two values differ by at most two units in the last place, one for each of
// two functions.
func close(a, b float64) bool { return math.Abs(a-b) <= 2*0x1p-52*math.Abs(b) }

// TestNormalsHaveTheRightMoments checks that the mean and the variance of a million normal numbers
// are within five standard deviations of 0 and 1. With a random seed, each check would fail once in
// a million runs.
func TestNormalsHaveTheRightMoments(t *testing.T) {
	m := newModel(Definition.Defaults)
	const paths = 500_000
	var sum, squares, product float64
	for path := range uint64(paths) {
		u, v := m.uniforms(path, 0)
		a, b := quantile(u), quantile(v)
		sum += a + b
		squares += a*a + b*b
		product += a * b
	}
	const n = 2 * paths
	if mean := sum / n; math.Abs(mean) > 5/math.Sqrt(n) {
		t.Errorf("mean %v", mean)
	}
	if variance := squares / n; math.Abs(variance-1) > 5*math.Sqrt(2.0/n) {
		t.Errorf("variance %v", variance)
	}
	if covariance := product / paths; math.Abs(covariance) > 5/math.Sqrt(paths) {
		t.Errorf("covariance of a pair %v", covariance)
	}
}

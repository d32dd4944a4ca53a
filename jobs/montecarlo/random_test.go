package montecarlo

import (
	"math"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/internal/portable"
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

// TestNormalsHaveTheRightMoments checks that the mean and the variance of a million normal numbers
// are within five standard deviations of 0 and 1. With a random seed, each check would fail once in
// a million runs.
func TestNormalsHaveTheRightMoments(t *testing.T) {
	m := newModel(Definition.Defaults)
	const paths = 500_000
	var sum, squares, product float64
	for path := range uint64(paths) {
		u, v := m.uniforms(path, 0)
		a, b := portable.Quantile(u), portable.Quantile(v)
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

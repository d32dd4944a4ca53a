package sketch

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

// TestSketches adds numbers to two sketches and merges the sketches in both orders.
func TestSketches(t *testing.T) {
	const n = 100_000
	var d [2]Distinct
	h := [2]Histogram{{}, {}}
	for i := range n {
		d[i%2].Add(binary.AppendUvarint(nil, uint64(i/4)))
		h[i%2].Add(float64(i + 1))
	}
	again := Histogram{}
	again.Merge(h[1])
	again.Merge(h[0])
	h[0].Merge(h[1])
	d[0].Merge(&d[1])
	if got := d[0].Count(); math.Abs(float64(got)/(n/4)-1) > 0.03 {
		t.Errorf("%d distinct values, want about %d", got, n/4)
	}
	for _, q := range []float64{0.01, 0.5, 0.99, 1} {
		if got := h[0].Quantile(q); math.Abs(got/(q*n)-1) > 0.004 || again.Quantile(q) != got {
			t.Errorf("quantile %v is %v, want about %v", q, got, q*n)
		}
	}
	if !bytes.Equal(h[0].Append(nil), again.Append(nil)) || h[0].Count() != n {
		t.Error("the order of merges changes a histogram")
	}
	if !math.IsNaN(Histogram(nil).Quantile(0.5)) {
		t.Error("an empty histogram has a quantile")
	}
}

func TestDistinctEstimates(t *testing.T) {
	for _, n := range []int{4096, 4097, 20_000, 200_000, 1_000_000} {
		var d, other Distinct
		for i := range n {
			hash := rand.Uint64()
			d.add(hash)
			if i%3 == 0 {
				other.add(hash)
			}
		}
		other.Merge(&d)
		for _, got := range []uint64{d.Count(), other.Count()} {
			if off := math.Abs(float64(got)/float64(n) - 1); off > 0.04 || n <= maxExact && off > 0 {
				t.Errorf("%d values are estimated as %d", n, got)
			}
		}
	}
}

func TestBins(t *testing.T) {
	for range 100_000 {
		f := math.Float64frombits(rand.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) || math.Abs(f) < 1e-300 {
			continue
		}
		if got := middle(bin(f)); math.Abs(got-f) > 0.004*math.Abs(f) {
			t.Fatalf("the bin of %v is around %v", f, got)
		}
	}
	list := []float64{-1e300, -2, -1, -1e-5, 0, 1e-5, 1, 2, 1e300}
	if !slices.IsSortedFunc(list, func(a, b float64) int { return int(bin(a)) - int(bin(b)) }) {
		t.Error("the bins are not sorted like their values")
	}
	if middle(bin(0)) != 0 || bin(math.Copysign(0, -1)) != bin(0) {
		t.Errorf("0 is in a bin around %v", middle(bin(0)))
	}
}

func FuzzDistinct(f *testing.F) {
	var few, many Distinct
	for i := range 5000 {
		if value := []byte{byte(i), byte(i >> 8)}; i < 3 {
			few.Add(value)
		} else {
			many.Add(value)
		}
	}
	fuzztest.Recode(f, func(data []byte) ([]byte, error) {
		d, _, err := ReadDistinct(data)
		return d.Append(nil), err
	}, []error{ErrDamaged}, few.Append(nil), many.Append(nil), new(Distinct).Append(nil), []byte{0, 5})
}

func FuzzHistogram(f *testing.F) {
	h := Histogram{}
	for i := range 100 {
		h.Add(float64(i))
	}
	fuzztest.Recode(f, func(data []byte) ([]byte, error) {
		h, _, err := ReadHistogram(data)
		return h.Append(nil), err
	}, []error{ErrDamaged}, h.Append(nil), Histogram{}.Append(nil), []byte{3})
}

func TestRanks(t *testing.T) {
	for q, want := range map[float64]uint64{0: 1, 0.07: 7, 0.14: 14, 0.55: 55, 0.999: 100, 1: 100} {
		if got := Rank(q, 100); got != want {
			t.Errorf("the rank of %v of 100 is %d, want %d", q, got, want)
		}
	}
}

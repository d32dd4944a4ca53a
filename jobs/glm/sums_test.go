package glm

import (
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"testing"
)

// TestSumsAreExact adds numbers and products in two orders and divisions, and compares the sums with fractions.
func TestSumsAreExact(t *testing.T) {
	const count = 3
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		want := [count]*big.Rat{new(big.Rat), new(big.Rat), new(big.Rat)}
		var additions []func(s *sums)
		for range r.IntN(30) {
			i, x := r.IntN(count), math.Ldexp(r.NormFloat64(), r.IntN(2000)-1060)
			values, e := []int64{r.Int64(), -r.Int64(), int64(r.IntN(3) - 1)}, r.IntN(1900)-950
			additions = append(additions, func(s *sums) { s.add(i, x) }, func(s *sums) { s.addAll(values, e) })
			want[i].Add(want[i], new(big.Rat).SetFloat64(x))
			for j, v := range values {
				product := new(big.Rat).SetFloat64(math.Ldexp(1, e))
				want[j].Add(want[j], product.Mul(product, new(big.Rat).SetInt64(v)))
			}
		}
		var results [2]*sums
		for k := range results {
			r.Shuffle(len(additions), func(i, j int) { additions[i], additions[j] = additions[j], additions[i] })
			left, right := newSums(count), newSums(count)
			for i, add := range additions {
				if i%7 == 3 {
					left.normalize()
				}
				if r.IntN(2) == 0 {
					add(left)
				} else {
					add(right)
				}
			}
			left.normalize()
			right.normalize()
			left.merge(right)
			results[k] = left
		}
		if !reflect.DeepEqual(results[0], results[1]) {
			t.Fatalf("the sums depend on the order: %v, %v", results[0], results[1])
		}
		for i, w := range want {
			if f, _ := w.Float64(); results[0].float(i) != f {
				t.Fatalf("sum %d is %v, want %v", i, results[0].float(i), f)
			}
		}
	}
}

// TestSumsOfExtremes checks limbs that cancel, and the largest and smallest numbers.
func TestSumsOfExtremes(t *testing.T) {
	s := newSums(1)
	for _, x := range []float64{math.MaxFloat64, 0x1p-1074, -math.MaxFloat64, 1, -1} {
		s.add(0, x)
	}
	s.normalize()
	if got := s.float(0); got != 0x1p-1074 {
		t.Errorf("the sum is %v, want %v", got, 0x1p-1074)
	}
	s.add(0, -0x1p-1074)
	if s.normalize(); !reflect.DeepEqual(s, newSums(1)) {
		t.Errorf("a sum of 0 is %+v", s)
	}
	s.add(0, math.MaxFloat64)
	s.add(0, math.MaxFloat64)
	if got := s.float(0); !math.IsInf(got, 1) || s.mean(0, 2) != math.MaxFloat64 {
		t.Errorf("a sum beyond the range of float64 is %v, its mean %v", got, s.mean(0, 2))
	}
}

// TestBinsRoundEachProductOnce adds more products than a bin may contain, with factors of many sizes, and compares
// the sums with fractions: the error of a product is below one unit of its bin.
func TestBinsRoundEachProductOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	b := newBins(1)
	sum, unit := new(big.Rat), new(big.Rat)
	for range 5000 {
		factor, x := math.Ldexp(r.NormFloat64(), r.IntN(8)), 2*r.Float64()-1
		at := b.of(factor)
		at.sums[0] += int64(factor * at.scale * x)
		product := new(big.Rat).SetFloat64(factor)
		sum.Add(sum, product.Mul(product, new(big.Rat).SetFloat64(x)))
		unit.Add(unit, new(big.Rat).SetFloat64(math.Ldexp(1, at.exponent)))
	}
	got := new(big.Rat).SetFloat64(b.end().float(0))
	if off := got.Sub(got, sum); off.Abs(off).Cmp(unit) > 0 {
		t.Errorf("the error is %v, above %v", off.FloatString(20), unit.FloatString(20))
	}
}

// TestFactorsAtTheEndsOfTheRange checks factors whose bins have the lowest and the highest exponents.
func TestFactorsAtTheEndsOfTheRange(t *testing.T) {
	b := newBins(1)
	for _, factor := range []float64{tiny, -tiny, math.MaxFloat64, -math.MaxFloat64, 0x1p1000, 2 * tiny} {
		if negligible(factor) {
			t.Errorf("%v is negligible", factor)
		}
		at := b.of(factor)
		at.sums[0] += int64(factor * at.scale)
	}
	total := b.end()
	want := new(big.Rat).SetFloat64(0x1p1000)
	want.Add(want, new(big.Rat).SetFloat64(2*tiny))
	m, e := total.exact(0)
	got := new(big.Rat).SetFrac(m, new(big.Int).Lsh(big.NewInt(1), uint(-e)))
	if got.Cmp(want) != 0 {
		t.Errorf("the sum of factors is %v", got)
	}
	if !negligible(0) || !negligible(tiny/2) {
		t.Error("0 or tiny/2 are not negligible")
	}
}

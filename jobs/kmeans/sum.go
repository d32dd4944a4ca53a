package kmeans

import (
	"math"
	"math/big"
	"math/bits"
)

// sum is an exact sum of integers of 63 bits: the value is High·2^64 + Low. Up to 2^64 integers fit.
type sum struct {
	_ struct{} `cbor:",toarray"`

	High int64
	Low  uint64
}

// add adds an integer.
func (s *sum) add(v int64) {
	low, carry := bits.Add64(s.Low, uint64(v), 0)
	s.Low = low
	s.High += v>>63 + int64(carry)
}

// plus adds a sum.
func (s *sum) plus(other sum) {
	low, carry := bits.Add64(s.Low, other.Low, 0)
	s.Low = low
	s.High += other.High + int64(carry)
}

// scale is a power of two that turns values into integers of 62 bits.
type scale int

// maxScale keeps 2^scale finite. Only values below 1e-280 get fewer bits.
const maxScale = 1000

// scaleOf returns the scale of values up to a largest one.
func scaleOf(largest float64) scale {
	if largest == 0 {
		return 0
	}
	_, exponent := math.Frexp(largest) // largest < 2^exponent
	return scale(min(62-exponent, maxScale))
}

// factor returns the number with which values are multiplied. The product is exact, and its integer part has at most
// 62 bits.
func (s scale) factor() float64 { return math.Ldexp(1, int(s)) }

// precision is the number of bits of quotients before they are rounded to float64.
const precision = 256

// mean returns a sum of scaled values divided by a number.
func (s scale) mean(total sum, count uint64) float64 {
	v := new(big.Int).SetInt64(total.High)
	v.Lsh(v, 64).Add(v, new(big.Int).SetUint64(total.Low))
	f := new(big.Float).SetPrec(precision).SetInt(v)
	f.Quo(f, new(big.Float).SetPrec(precision).SetUint64(count))
	mean, _ := f.SetMantExp(f, -int(s)).Float64()
	return mean
}

package glm

import (
	"math"
	"math/big"
)

// sums is a list of exact sums. Sum i is the sum of Limbs[l][i]·2^(32·(Low+l)) over all l. The order of the additions,
// and their division into partial sums, have no effect on a normal list of sums (see normalize).
// The idea is the small superaccumulator of Neal, Fast exact summation using small and large superaccumulators, 2015.
//
// After maxAdded additions to a sum, normalize must be called before the next one.
type sums struct {
	Count int // number of sums
	Low   int
	Limbs [][]int64
}

const (
	limbBits = 32
	// maxAdded is a number of additions after which a limb of 64 bits has not overflowed. Each addition changes a
	// limb by less than 2^32, so a limb would overflow after 2^31 additions.
	maxAdded = 1 << 16
)

func newSums(count int) *sums { return &sums{Count: count} }

// limbsFrom returns the three limbs whose lowest has the given index, and adds limbs to the list as needed.
func (s *sums) limbsFrom(index int) [][]int64 {
	if len(s.Limbs) == 0 {
		s.Low = index
	}
	for ; index < s.Low; s.Low-- {
		s.Limbs = append([][]int64{make([]int64, s.Count)}, s.Limbs...)
	}
	for s.Low+len(s.Limbs) < index+3 {
		s.Limbs = append(s.Limbs, make([]int64, s.Count))
	}
	return s.Limbs[index-s.Low : index-s.Low+3]
}

// addAll adds values[i]·2^exponent to each sum i.
func (s *sums) addAll(values []int64, exponent int) {
	at := s.limbsFrom(exponent >> 5)
	low, middle, high := at[0][:len(values)], at[1][:len(values)], at[2][:len(values)]
	shift := exponent & (limbBits - 1)
	for i, v := range values {
		a, b, c := split(v, shift)
		low[i] += a
		middle[i] += b
		high[i] += c
	}
}

// split returns the three limbs of v·2^shift. The shift is below 32.
func split(v int64, shift int) (low, middle, high int64) {
	word := uint64(v) << shift
	return int64(word & math.MaxUint32), int64(word >> limbBits), v >> (64 - shift)
}

// add adds a finite number to sum i.
func (s *sums) add(i int, x float64) {
	if x == 0 {
		return
	}
	word := math.Float64bits(x)
	exponent := int(word >> 52 & 0x7ff)
	mantissa := int64(word & (1<<52 - 1))
	if exponent == 0 {
		exponent = 1 // a subnormal number
	} else {
		mantissa |= 1 << 52
	}
	if x < 0 {
		mantissa = -mantissa
	}
	exponent -= 1075
	a, b, c := split(mantissa, exponent&(limbBits-1))
	at := s.limbsFrom(exponent >> 5)
	at[0][i] += a
	at[1][i] += b
	at[2][i] += c
}

// normalize gives the sums their only normal form: all limbs are at least -2^31 and below 2^31, and neither the first
// nor the last list of limbs consists of zeros.
func (s *sums) normalize() {
	for l := 0; l < len(s.Limbs); l++ {
		for i, v := range s.Limbs[l] {
			carry := (v + 1<<31) >> limbBits
			if carry == 0 {
				continue
			}
			if l+1 == len(s.Limbs) {
				s.Limbs = append(s.Limbs, make([]int64, s.Count))
			}
			s.Limbs[l][i] = v - carry<<limbBits
			s.Limbs[l+1][i] += carry
		}
	}
	for len(s.Limbs) > 0 && allZero(s.Limbs[len(s.Limbs)-1]) {
		s.Limbs = s.Limbs[:len(s.Limbs)-1]
	}
	for len(s.Limbs) > 0 && allZero(s.Limbs[0]) {
		s.Limbs, s.Low = s.Limbs[1:], s.Low+1
	}
	if len(s.Limbs) == 0 {
		s.Low, s.Limbs = 0, nil
	}
}

func allZero(list []int64) bool {
	for _, v := range list {
		if v != 0 {
			return false
		}
	}
	return true
}

// merge adds the sums of another list, and normalizes the list. Both lists must be normal.
func (s *sums) merge(from *sums) {
	for l, list := range from.Limbs {
		at := s.limbsFrom(from.Low + l)[0]
		for i, v := range list {
			at[i] += v
		}
	}
	s.normalize()
}

// exact returns sum i as an integer times 2^exponent.
func (s *sums) exact(i int) (m *big.Int, exponent int) {
	m = new(big.Int)
	for l := len(s.Limbs) - 1; l >= 0; l-- {
		m.Lsh(m, limbBits)
		m.Add(m, big.NewInt(s.Limbs[l][i]))
	}
	return m, s.Low * limbBits
}

// float returns the float64 that is nearest to sum i. It may be infinite.
func (s *sums) float(i int) float64 { return s.mean(i, 1) }

// mean returns the float64 that is nearest to sum i divided by a count. It may be infinite.
func (s *sums) mean(i int, count uint64) float64 {
	m, exponent := s.exact(i)
	divisor := new(big.Int).SetUint64(count)
	if exponent < 0 {
		divisor.Lsh(divisor, uint(-exponent))
	} else {
		m.Lsh(m, uint(exponent))
	}
	rounded, _ := new(big.Rat).SetFrac(m, divisor).Float64()
	return rounded
}

// power returns 2^e, for an exponent e of a normal number.
func power(e int) float64 { return math.Float64frombits(uint64(e+1023) << 52) }

// ceiling returns the lowest e such that 2^e is at least x, a positive finite number.
func ceiling(x float64) int {
	fraction, e := math.Frexp(x)
	if fraction == 0.5 {
		return e - 1
	}
	return e
}

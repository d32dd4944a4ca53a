package exact

import (
	"encoding/binary"
	"errors"
	"math/big"
	"math/bits"
	"strconv"
)

// Sum is an exact sum of numbers. The scale of the sum is the largest scale of the numbers. The
// zero value of Sum is 0.
type Sum struct {
	high  int64 // upper half of the mantissa in two's complement, unless big is not nil
	low   uint64
	scale int
	big   *big.Int
}

// powers contains the powers of ten that fit in a uint64.
var powers = func() (list [20]uint64) {
	for i := range list {
		list[i] = 1
		for range i {
			list[i] *= 10
		}
	}
	return list
}()

// Add adds a number to the sum.
func (s *Sum) Add(n *Number) {
	if n.Big == nil && s.big == nil && n.Scale == s.scale {
		s.add(n.Mantissa>>63, uint64(n.Mantissa))
		return
	}
	s.addScaled(n)
}

// add adds a mantissa of 128 bits, which has the scale of the sum.
func (s *Sum) add(high int64, low uint64) {
	sum, carry := bits.Add64(s.low, low, 0)
	top := s.high + high + int64(carry)
	if s.high>>63 == high>>63 && top>>63 != high>>63 { // the sum has overflowed 128 bits
		m := s.mantissa()
		s.big = m.Add(m, wide(high, low))
		return
	}
	s.high, s.low = top, sum
}

// addScaled adds a number of any scale and size.
func (s *Sum) addScaled(n *Number) {
	if n.Big == nil && s.big == nil && s.high == 0 && s.low == 0 && n.Scale > s.scale {
		s.high, s.low, s.scale = n.Mantissa>>63, uint64(n.Mantissa), n.Scale
		return
	}
	if n.Big == nil && s.big == nil && n.Scale < s.scale && s.scale-n.Scale <= fastDigits {
		w := scaled(n.Mantissa, s.scale-n.Scale)
		s.add(w.high, w.low)
		return
	}
	s.addBig(n.mantissa(max(n.Scale, s.scale)), max(n.Scale, s.scale))
}

// word128 is an integer of 128 bits in two's complement.
type word128 struct {
	high int64
	low  uint64
}

// scaled returns mantissa · 10^digits. The product fits because the mantissa of a Number is below
// 2^63, and digits is at most fastDigits.
func scaled(mantissa int64, digits int) word128 {
	high, low := bits.Mul64(uint64(max(mantissa, -mantissa)), powers[digits])
	if mantissa < 0 {
		var borrow uint64
		low, borrow = bits.Sub64(0, low, 0)
		high, _ = bits.Sub64(0, high, borrow)
	}
	return word128{int64(high), low}
}

// addBig adds m · 10^-scale. The scale must be at least the scale of the sum.
func (s *Sum) addBig(m *big.Int, scale int) {
	if s.big != nil && scale == s.scale {
		s.big.Add(s.big, m)
		return
	}
	own := new(big.Int).Mul(s.mantissa(), power(scale-s.scale))
	s.set(own.Add(own, m), scale)
}

// set sets the sum to m · 10^-scale.
func (s *Sum) set(m *big.Int, scale int) {
	*s = Sum{scale: scale}
	if m.BitLen() > 126 {
		s.big = m
		return
	}
	magnitude := new(big.Int).Abs(m)
	s.low = new(big.Int).And(magnitude, new(big.Int).SetUint64(1<<64-1)).Uint64()
	s.high = int64(new(big.Int).Rsh(magnitude, 64).Uint64())
	if m.Sign() < 0 {
		var borrow uint64
		s.low, borrow = bits.Sub64(0, s.low, 0)
		s.high = -s.high - int64(borrow)
	}
}

// AddSum adds another sum.
func (s *Sum) AddSum(o *Sum) {
	if s.big == nil && o.big == nil && s.scale == o.scale {
		s.add(o.high, o.low)
		return
	}
	scale := max(s.scale, o.scale)
	s.addBig(new(big.Int).Mul(o.mantissa(), power(scale-o.scale)), scale)
}

// AddSquare adds the square of a number to the sum.
func (s *Sum) AddSquare(n *Number) {
	if n.Big == nil && s.big == nil && 2*n.Scale <= s.scale {
		magnitude := uint64(max(n.Mantissa, -n.Mantissa))
		high, low := bits.Mul64(magnitude, magnitude)
		for left := s.scale - 2*n.Scale; left > 0 && high < 1<<62; {
			step := min(left, fastDigits)
			over, top := bits.Mul64(high, powers[step])
			var carry uint64
			high, low = bits.Mul64(low, powers[step])
			if high, carry = bits.Add64(high, top, 0); over|carry != 0 {
				high = 1 << 62 // marks a square that is too large for the fast addition
			}
			left -= step
		}
		if high < 1<<62 {
			s.add(int64(high), low)
			return
		}
	}
	m := n.mantissa(n.Scale)
	scale := max(s.scale, 2*n.Scale)
	m.Mul(m, m)
	if scale > 2*n.Scale {
		m.Mul(m, power(scale-2*n.Scale))
	}
	s.addBig(m, scale)
}

// mantissa returns a copy of the mantissa.
func (s *Sum) mantissa() *big.Int {
	if s.big != nil {
		return new(big.Int).Set(s.big)
	}
	return wide(s.high, s.low)
}

func wide(high int64, low uint64) *big.Int {
	m := big.NewInt(high)
	return m.Add(m.Lsh(m, 64), new(big.Int).SetUint64(low))
}

// Quotient returns the sum divided by an integer, rounded once.
func (s *Sum) Quotient(n uint64) float64 {
	const exactly = 1 << 53 // a float64 represents all integers up to this one
	if s.big == nil && s.high == int64(s.low)>>63 && s.scale < len(floats) && int64(s.low) > -exactly && int64(s.low) < exactly {
		if divisor := float64(n) * floats[s.scale]; n < exactly && divisor < exactly {
			return float64(int64(s.low)) / divisor // both operands are exact, so only the division rounds
		}
	}
	f, _ := new(big.Rat).Quo(s.Rat(), new(big.Rat).SetInt(new(big.Int).SetUint64(n))).Float64()
	return f
}

// Number returns the sum.
func (s *Sum) Number() Number {
	if s.big == nil && s.high == int64(s.low)>>63 {
		return New(int64(s.low), s.scale)
	}
	return normal(s.mantissa(), s.scale)
}

// Rat returns the sum as a fraction.
func (s *Sum) Rat() *big.Rat { return new(big.Rat).SetFrac(s.mantissa(), power(s.scale)) }

var errSum = errors.New("damaged sum")

// Append appends the encoding of the sum. The encoding depends only on the sum's value and scale.
func (s *Sum) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(s.scale))
	if s.big == nil && s.high == int64(s.low)>>63 {
		b = append(b, 0)
		return binary.AppendVarint(b, int64(s.low))
	}
	m := s.mantissa()
	if m.IsInt64() { // a sum that was large before is still stored as a big.Int
		b = append(b, 0)
		return binary.AppendVarint(b, m.Int64())
	}
	sign := byte(1)
	if m.Sign() < 0 {
		sign = 2
	}
	digits := m.Bytes()
	b = binary.AppendUvarint(append(b, sign), uint64(len(digits)))
	return append(b, digits...)
}

// AppendInteger appends the text of the encoded sum at the beginning of data to b, and returns the rest of data. It returns false if
// the sum is damaged, or no integer of 64 bits with the scale 0. It takes less time than Read and Number.
func AppendInteger(b, data []byte) (text, rest []byte, ok bool) {
	if len(data) < 3 || data[0] != 0 || data[1] != 0 { // the scale and the sign of Append
		return b, data, false
	}
	m, n := binary.Varint(data[2:])
	if n <= 0 {
		return b, data, false
	}
	return strconv.AppendInt(b, m, 10), data[2+n:], true
}

// Read decodes a sum at the beginning of b and returns the rest.
func (s *Sum) Read(b []byte) ([]byte, error) {
	scale, n := binary.Uvarint(b)
	if n <= 0 || n == len(b) || scale > 4*MaxDigits {
		return nil, errSum
	}
	sign := b[n]
	b = b[n+1:]
	if sign == 0 {
		m, n := binary.Varint(b)
		if n <= 0 {
			return nil, errSum
		}
		*s = Sum{high: m >> 63, low: uint64(m), scale: int(scale)}
		return b[n:], nil
	}
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) || sign > 2 {
		return nil, errSum
	}
	m := new(big.Int).SetBytes(b[n : n+int(size)])
	if sign == 2 {
		m.Neg(m)
	}
	s.set(m, int(scale))
	return b[n+int(size):], nil
}

package exact

import (
	"math"
	"math/big"
	"math/bits"
)

// maxBits is the number of bits of the largest mantissa with MaxDigits digits.
const maxBits = 3322

// Plus returns n + o. The result ok is false if the sum has more than MaxDigits digits.
func (n *Number) Plus(o *Number) (sum Number, ok bool) {
	if n.Big == nil && o.Big == nil && n.Scale == o.Scale {
		if m := n.Mantissa + o.Mantissa; (n.Mantissa^m)&(o.Mantissa^m) >= 0 { // otherwise the sum has overflowed
			return New(m, n.Scale), true
		}
	}
	scale := max(n.Scale, o.Scale)
	m := n.mantissa(scale)
	return limited(m.Add(m, o.mantissa(scale)), scale)
}

// Times returns n · o. The result ok is false if the product has more than MaxDigits digits.
func (n *Number) Times(o *Number) (product Number, ok bool) {
	scale := n.Scale + o.Scale
	if n.Big == nil && o.Big == nil && scale <= fastDigits {
		if high, low := bits.Mul64(magnitude(n.Mantissa), magnitude(o.Mantissa)); high == 0 && low <= math.MaxInt64 {
			return Number{Mantissa: n.Mantissa * o.Mantissa, Scale: scale}, true
		}
	}
	m := n.mantissa(n.Scale)
	return limited(m.Mul(m, o.mantissa(o.Scale)), scale)
}

// Negative returns -n.
func (n *Number) Negative() Number {
	if n.Big == nil {
		return Number{Mantissa: -n.Mantissa, Scale: n.Scale}
	}
	return Number{Scale: n.Scale, Big: new(big.Int).Neg(n.Big)}
}

func magnitude(m int64) uint64 { return uint64(max(m, -m)) }

// limited returns the number m · 10^-scale, or false if it has too many digits.
func limited(m *big.Int, scale int) (Number, bool) {
	if m.BitLen() > maxBits || scale > MaxDigits {
		return Number{}, false
	}
	return normal(m, scale), true
}

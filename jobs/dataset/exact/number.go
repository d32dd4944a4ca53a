package exact

import (
	"cmp"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// MaxDigits is the maximum number of digits of a number when it is written without an exponent.
const MaxDigits = 1000

// Number is a decimal number: Mantissa · 10^-Scale. If Big is not nil, Big is the mantissa.
type Number struct {
	Mantissa int64 // not the smallest int64, whose negative is no int64
	Scale    int   // number of digits after the decimal point; at least 0
	Big      *big.Int
}

// fastDigits is the maximum scale of a number without Big.
const fastDigits = 18

// New returns the number mantissa · 10^-scale.
func New(mantissa int64, scale int) Number {
	if mantissa != math.MinInt64 && scale <= fastDigits {
		return Number{Mantissa: mantissa, Scale: scale}
	}
	return normal(big.NewInt(mantissa), scale)
}

// NewBig returns the number mantissa · 10^-scale. The caller must not change the mantissa after the
// call.
func NewBig(mantissa *big.Int, scale int) Number { return normal(mantissa, scale) }

// Parse parses a number such as -1.50 or 2.5e9.
func Parse(text []byte) (n Number, ok bool) {
	ok = n.Parse(text)
	return n, ok
}

// Parse sets n to the number that the function Parse returns for the text. If Parse returns false,
// the value of n is undefined.
func (n *Number) Parse(text []byte) bool {
	i, negative := 0, false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		i, negative = 1, text[0] == '-'
	}
	digits, point, first := int64(0), -1, i
	for ; i < len(text); i++ {
		if c := text[i] - '0'; c <= 9 && digits < math.MaxInt64/10 {
			digits = digits*10 + int64(c)
		} else if text[i] == '.' && point < 0 {
			point = i
		} else {
			return n.parseSlowly(text)
		}
	}
	scale := 0
	if point >= 0 {
		scale = len(text) - 1 - point
	}
	if len(text)-first == 0 || point >= 0 && len(text)-first == 1 {
		return false
	}
	if scale > fastDigits || len(text) > MaxDigits {
		return n.parseSlowly(text)
	}
	if negative {
		digits = -digits
	}
	n.Mantissa, n.Scale = digits, scale
	if n.Big != nil {
		n.Big = nil
	}
	return true
}

// parseSlowly parses any number. Parse calls parseSlowly for numbers that the fast code of Parse
// cannot handle.
func (n *Number) parseSlowly(text []byte) bool {
	if len(text) == 0 || text[0] > '9' { // true for most texts
		return false
	}
	s := string(text)
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	exponent := 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(s[i+1:]); err != nil || exponent < -MaxDigits || exponent > MaxDigits {
			return false
		}
		s = s[:i]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	digits := whole + fraction
	scale := len(fraction) - exponent
	if digits == "" || len(digits) > MaxDigits || strings.Trim(digits, "0123456789") != "" {
		return false
	}
	if scale < 0 {
		digits += strings.Repeat("0", -scale)
		scale = 0
	}
	m, ok := new(big.Int).SetString(digits, 10)
	if !ok || len(digits) > MaxDigits || scale > MaxDigits {
		return false
	}
	if negative {
		m.Neg(m)
	}
	*n = normal(m, scale)
	return true
}

// normal returns the number m · 10^-scale, with Big set only if it is needed.
func normal(m *big.Int, scale int) Number {
	if m.IsInt64() && m.Int64() != math.MinInt64 && scale <= fastDigits {
		return Number{Mantissa: m.Int64(), Scale: scale}
	}
	return Number{Scale: scale, Big: m}
}

// mantissa returns the mantissa that the number has with the given scale, which must be at least
// the number's scale.
func (n Number) mantissa(scale int) *big.Int {
	m := n.Big
	if m == nil {
		m = big.NewInt(n.Mantissa)
	}
	if scale == n.Scale {
		return new(big.Int).Set(m)
	}
	return new(big.Int).Mul(m, power(scale-n.Scale))
}

func power(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// Compare compares two numbers and returns -1, 0 or 1, like cmp.Compare.
func (n *Number) Compare(o *Number) int {
	if n.Big == nil && o.Big == nil {
		if n.Scale == o.Scale {
			return cmp.Compare(n.Mantissa, o.Mantissa)
		}
		a, b := scaled(n.Mantissa, max(0, o.Scale-n.Scale)), scaled(o.Mantissa, max(0, n.Scale-o.Scale))
		if order := cmp.Compare(a.high, b.high); order != 0 {
			return order
		}
		return cmp.Compare(a.low, b.low)
	}
	scale := max(n.Scale, o.Scale)
	return n.mantissa(scale).Cmp(o.mantissa(scale))
}

// Rat returns the number as a fraction.
func (n Number) Rat() *big.Rat { return new(big.Rat).SetFrac(n.mantissa(n.Scale), power(n.Scale)) }

// String returns the number without an exponent, with Scale digits after the point.
func (n Number) String() string {
	text := ""
	if n.Big == nil {
		text = strconv.FormatInt(n.Mantissa, 10)
	} else {
		text = n.Big.String()
	}
	if n.Scale == 0 {
		return text
	}
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	if missing := n.Scale + 1 - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	return sign + text[:len(text)-n.Scale] + "." + text[len(text)-n.Scale:]
}

// Append appends the text of the number that String returns.
func (n *Number) Append(b []byte) []byte {
	if n.Big == nil && n.Scale == 0 {
		return strconv.AppendInt(b, n.Mantissa, 10)
	}
	return append(b, n.String()...)
}

// Short returns the number with the smallest scale: 1.5 for 1.50.
func (n Number) Short() Number {
	if n.Big == nil {
		for ; n.Scale > 0 && n.Mantissa%10 == 0; n.Scale-- {
			n.Mantissa /= 10
		}
		return n
	}
	m, scale := n.mantissa(n.Scale), n.Scale
	ten, rest := big.NewInt(10), new(big.Int)
	for scale > 0 {
		shorter, r := new(big.Int).QuoRem(m, ten, rest)
		if r.Sign() != 0 {
			break
		}
		m, scale = shorter, scale-1
	}
	return normal(m, scale)
}

// Float returns the nearest float64.
func (n Number) Float() float64 {
	if n.Big == nil && n.Scale < len(floats) && n.Mantissa > -1<<53 && n.Mantissa < 1<<53 {
		return float64(n.Mantissa) / floats[n.Scale] // a float64 represents both operands exactly, so only the division rounds
	}
	if n.Big == nil && n.Scale == 0 {
		return float64(n.Mantissa)
	}
	f, _ := n.Rat().Float64()
	return f
}

// floats contains the powers of ten that a float64 represents exactly.
var floats = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

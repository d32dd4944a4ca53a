package exact

import (
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// TestArithmetic compares sums, products and negative numbers with those of package big.
func TestArithmetic(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	texts := []string{
		"0", "-0", "0.00", "999999999999999999", "-999999999999999999", "0.000000000000000001", "1e30", "-2.5e40",
		"9223372036854775807", "-9223372036854775807", "9223372036854775808", "-9223372036854775808", "-922337203685477580.8", "4611686018427387904", "3037000500", strings.Repeat("7", 300) + ".5",
	}
	for range 60 {
		texts = append(texts, strconv.FormatFloat(random.NormFloat64()*1e6, 'f', random.IntN(19), 64), strconv.Itoa(random.IntN(2e9)-1e9))
	}
	for _, a := range texts {
		for _, b := range texts {
			x, xOK := Parse([]byte(a))
			y, yOK := Parse([]byte(b))
			sum, sumOK := x.Plus(&y)
			product, productOK := x.Times(&y)
			if !xOK || !yOK || !sumOK || !productOK {
				t.Fatalf("%s, %s: got %v, %v, %v, %v, want numbers", a, b, xOK, yOK, sumOK, productOK)
			}
			if want := new(big.Rat).Add(x.Rat(), y.Rat()); sum.Rat().Cmp(want) != 0 {
				t.Errorf("%s + %s: got %s, want %s", a, b, sum, want)
			}
			if want := new(big.Rat).Mul(x.Rat(), y.Rat()); product.Rat().Cmp(want) != 0 {
				t.Errorf("%s · %s: got %s, want %s", a, b, product, want)
			}
			for _, n := range []Number{sum, product} { // the form is the one that Parse returns
				again, ok := Parse([]byte(n.String()))
				if !ok || again.Compare(&n) != 0 || (again.Big == nil) != (n.Big == nil) {
					t.Errorf("%s, %s: %+v is parsed as %+v", a, b, n, again)
				}
			}
		}
		n, _ := Parse([]byte(a))
		negative := n.Negative()
		if negative.Rat().Cmp(new(big.Rat).Neg(n.Rat())) != 0 {
			t.Errorf("-(%s): got %s", a, negative)
		}
	}
	large, _ := Parse([]byte("1e600"))
	if n, ok := large.Times(&large); ok {
		t.Errorf("10^1200: got %s, want too many digits", n)
	}
	small, _ := Parse([]byte("1e-600"))
	if n, ok := small.Times(&small); ok {
		t.Errorf("10^-1200: got %s, want too many digits", n)
	}
	most, _ := Parse([]byte(strings.Repeat("9", MaxDigits)))
	if n, ok := most.Plus(&most); ok && len(n.String()) > MaxDigits+1 {
		t.Errorf("got %d digits", len(n.String()))
	}
}

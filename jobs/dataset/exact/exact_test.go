package exact_test

import (
	"bytes"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// text returns the text of a random decimal number.
func text() string {
	switch rand.IntN(9) {
	case 8: // near the largest mantissa
		return fmt.Sprintf("%s922337203685477580%de%d", []string{"", "-"}[rand.IntN(2)], rand.IntN(10), -rand.IntN(20))
	case 6:
		return fmt.Sprintf("%.17g", rand.NormFloat64()*20)
	case 7:
		return fmt.Sprintf("%030.*f", rand.IntN(20), rand.NormFloat64())
	case 0:
		return fmt.Sprint(rand.Int64())
	case 1:
		return fmt.Sprintf("%fe%d", rand.NormFloat64(), rand.IntN(80)-40)
	case 2:
		return fmt.Sprintf("-%d%d.%d", rand.Int64(), rand.Int64(), rand.Int64())
	case 3:
		return fmt.Sprintf("%.*f", rand.IntN(20), rand.NormFloat64())
	default:
		return fmt.Sprintf("%.1f", rand.Float64()*200-100)
	}
}

// TestSums checks that sums are exact, and have the same encoding, for every order and grouping of
// the additions.
func TestSums(t *testing.T) {
	for range 1000 {
		want, squares := new(big.Rat), new(big.Rat)
		var list []exact.Number
		for range rand.IntN(20) {
			s := text()
			n, ok := exact.Parse([]byte(s))
			r, _ := new(big.Rat).SetString(s)
			if !ok || n.Rat().Cmp(r) != 0 {
				t.Fatalf("%s is parsed as %v, %v", s, n, ok)
			}
			if again, ok := exact.Parse([]byte(n.String())); !ok || again.Rat().Cmp(r) != 0 {
				t.Fatalf("%s is printed as %v", s, n)
			}
			if short := n.Short(); short.Rat().Cmp(r) != 0 || short.Scale > n.Scale {
				t.Fatalf("%s is shortened to %v", s, short)
			}
			want.Add(want, r)
			squares.Add(squares, r.Mul(r, r))
			list = append(list, n)
		}
		var encoded [2][]byte
		for i := range encoded {
			rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			cut := 0
			if len(list) > 0 {
				cut = rand.IntN(len(list))
			}
			var left, right, square exact.Sum
			for _, n := range list[:cut] {
				left.Add(&n)
			}
			for _, n := range list[cut:] {
				right.Add(&n)
			}
			for _, n := range list {
				square.AddSquare(&n)
			}
			var again exact.Sum
			if rest, err := again.Read(right.Append(nil)); err != nil || len(rest) > 0 {
				t.Fatal(err)
			}
			left.AddSum(&again)
			if left.Rat().Cmp(want) != 0 || square.Rat().Cmp(squares) != 0 {
				t.Fatalf("%v: the sum is %v, want %v; the squares are %v, want %v", list, left.Rat(), want, square.Rat(), squares)
			}
			encoded[i] = square.Append(left.Append(nil))
		}
		if !bytes.Equal(encoded[0], encoded[1]) {
			t.Fatalf("%v: the encoding depends on the order: %x, %x", list, encoded[0], encoded[1])
		}
	}
}

func TestCompare(t *testing.T) {
	for range 5_000 {
		a, _ := exact.Parse([]byte(text()))
		b, _ := exact.Parse([]byte(text()))
		if got, want := a.Compare(&b), a.Rat().Cmp(b.Rat()); got != want {
			t.Fatalf("%v and %v: got %d, want %d", a, b, got, want)
		}
	}
}

// TestNumbersOfDifferentScalesNeedNoMemory checks that additions of numbers with different numbers
// of digits allocate no memory. Columns with printed floats often contain numbers with different
// numbers of digits.
func TestNumbersOfDifferentScalesNeedNoMemory(t *testing.T) {
	var list []exact.Number
	text := [][]byte{[]byte("-1.2345678901234567"), []byte("0.12345678901234567"), []byte("7"), []byte("3.50")}
	var sum, square exact.Sum
	add := func() {
		list = list[:0]
		for _, s := range text {
			n, _ := exact.Parse(s)
			list = append(list, n)
			sum.Add(&n)
			square.AddSquare(&n)
		}
	}
	add()
	allocated := testing.AllocsPerRun(50, func() {
		add()
		for i := range list {
			list[0].Compare(&list[i])
		}
	})
	if allocated > 0 {
		t.Errorf("%v allocations", allocated)
	}
}

func TestNoNumbers(t *testing.T) {
	for _, s := range []string{"", "-", ".", "-.", "+", "e5", "1e", "1.2.3", "NaN", "Inf", "1_0", "0x10", " 1", "1e1001", "--1", "1-1", "123456789012345678901a"} {
		if n, ok := exact.Parse([]byte(s)); ok {
			t.Errorf("%q is parsed as %v", s, n)
		}
	}
}

package scan

import (
	"math"
	"math/big"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// variances contains exact sums of values and of their squares.
type variances struct {
	perGroup[variance]
	root bool // true if the results are standard deviations
}

type variance struct {
	sum
	squares exact.Sum
}

func (s *variances) add(group int, v *values) {
	if n, ok := v.number(s.column); ok {
		at := &s.list[group]
		at.count++
		at.sum.sum.Add(n)
		at.squares.AddSquare(n)
	}
}

func (s *variances) merge(group int, from states, other int) {
	at, with := &s.list[group], &from.(*variances).list[other]
	at.sum.merge(&with.sum)
	at.squares.AddSum(&with.squares)
}

func (s *variances) append(b []byte, group int) []byte {
	at := &s.list[group]
	return at.squares.Append(at.sum.append(b))
}

func (s *variances) read(b []byte) (_ []byte, err error) {
	var one variance
	if b, err = one.sum.read(b); err != nil {
		return nil, err
	}
	b, err = one.squares.Read(b)
	s.list = append(s.list, one)
	return b, err
}

// result returns the variance of a sample, (Σx² - (Σx)²/n) / (n-1), which is rounded once. A standard
// deviation is rounded twice, because both the variance and its square root are rounded.
func (s *variances) result(group int, _ aggregate) (cell, error) {
	at := &s.list[group]
	if at.count < 2 {
		return null, nil
	}
	count := new(big.Rat).SetInt(new(big.Int).SetUint64(at.count))
	total := at.sum.sum.Rat()
	total.Quo(total.Mul(total, total), count)
	v := total.Sub(at.squares.Rat(), total)
	v.Quo(v, count.Sub(count, big.NewRat(1, 1)))
	variance, _ := v.Float64()
	if s.root {
		variance = math.Sqrt(variance)
	}
	return float(variance), nil
}

package scan

import (
	"encoding/binary"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// sums contains exact sums of values. Its results are rounded at most once, because the sums are exact.
type sums struct {
	perGroup[sum]
	mean bool // true if the results are means
}

type sum struct {
	count uint64
	sum   exact.Sum
}

func (s *sums) add(group int, v *values) {
	if n, ok := v.number(s.column); ok {
		at := &s.list[group]
		at.count++
		at.sum.Add(n)
	}
}

func (s *sums) addPlain(group int, p *plain) {
	at := &s.list[group]
	at.count += p.count
	at.sum.Add(&exact.Number{Mantissa: p.sum, Scale: p.scale})
}

func (s *sums) merge(group int, from states, other int) {
	s.list[group].merge(&from.(*sums).list[other])
}

func (s *sum) merge(with *sum) {
	s.count += with.count
	s.sum.AddSum(&with.sum)
}

func (s *sums) append(b []byte, group int) []byte { return s.list[group].append(b) }

func (s *sum) append(b []byte) []byte { return s.sum.Append(binary.AppendUvarint(b, s.count)) }

func (s *sums) read(b []byte) ([]byte, error) {
	var one sum
	b, err := one.read(b)
	s.list = append(s.list, one)
	return b, err
}

func (s *sum) read(b []byte) ([]byte, error) {
	count, size := binary.Uvarint(b)
	if size <= 0 {
		return nil, errStates
	}
	s.count = count
	return s.sum.Read(b[size:])
}

func (s *sums) result(group int, _ aggregate) (cell, error) { return s.cell(&s.list[group]), nil }

// cell returns the result of a sum.
func (s *sums) cell(of *sum) cell {
	switch {
	case of.count == 0:
		return null
	case s.mean:
		return float(of.sum.Quotient(of.count))
	default:
		return decimal(of.sum.Number())
	}
}

func (s *sums) appendResult(b, data []byte) (text, rest []byte, err error) {
	if count, size := binary.Uvarint(data); size > 0 && count > 0 && !s.mean {
		if text, rest, ok := exact.AppendInteger(b, data[size:]); ok {
			return text, rest, nil
		}
	}
	var one sum
	if rest, err = one.read(data); err != nil {
		return nil, nil, err
	}
	c := s.cell(&one)
	return c.append(b), rest, nil
}

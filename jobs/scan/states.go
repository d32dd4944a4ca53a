package scan

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// states contains the states of one aggregate for all groups. Empty fields do not count as values.
type states interface {
	bind(column int)                         // bind sets the index of the column
	grow()                                   // grow appends the state of a new group
	reset()                                  // reset removes all groups, but keeps the memory
	add(group int, v *values)                // add adds a record to the state of a group
	merge(group int, from states, other int) // merge adds the state of the group other in from, which must have the same type
	append(b []byte, group int) []byte       // append appends the encoded state of a group
	read(b []byte) (rest []byte, err error)  // read decodes a state and appends the state as a new group
	result(group int, a aggregate) (cell, error)
}

// newStates returns empty states for an aggregate.
func newStates(a aggregate) states {
	switch a.function {
	case "count":
		return new(counts)
	case "min", "max":
		return &extremes{sign: map[string]int{"min": -1, "max": 1}[a.function]}
	case "distinct":
		return new(distincts)
	case "quantile":
		return new(histograms)
	case "top":
		return new(tops)
	}
	return &sums{squares: a.function == "var" || a.function == "stddev"}
}

var errStates = errors.New("damaged partial of a scan")

// counts contains numbers of rows, or numbers of fields that are not empty.
type counts struct {
	column int // index of the column; -1 if rows are counted
	list   []uint64
}

func (c *counts) bind(column int) { c.column = column }
func (c *counts) grow()           { c.list = append(c.list, 0) }
func (c *counts) reset()          { c.list = c.list[:0] }

func (c *counts) add(group int, v *values) {
	if c.column < 0 || len(v.field(c.column)) > 0 {
		c.list[group]++
	}
}

func (c *counts) merge(group int, from states, other int) {
	c.list[group] += from.(*counts).list[other]
}

func (c *counts) append(b []byte, group int) []byte { return binary.AppendUvarint(b, c.list[group]) }

func (c *counts) read(b []byte) ([]byte, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return nil, errStates
	}
	c.list = append(c.list, n)
	return b[size:], nil
}

func (c *counts) result(group int, _ aggregate) (cell, error) { return integer(c.list[group]), nil }

// sums contains exact sums of values. For variances, sums also contains the sums of the squares.
type sums struct {
	column  int
	squares bool
	list    []sum
	square  []exact.Sum // sums of the squares; only if squares is true
}

type sum struct {
	count uint64
	sum   exact.Sum
}

func (s *sums) bind(column int) { s.column = column }
func (s *sums) reset()          { s.list, s.square = s.list[:0], s.square[:0] }
func (s *sums) grow() {
	s.list = append(s.list, sum{})
	if s.squares {
		s.square = append(s.square, exact.Sum{})
	}
}

func (s *sums) add(group int, v *values) {
	n, ok := v.number(s.column)
	if !ok {
		return
	}
	at := &s.list[group]
	at.count++
	at.sum.Add(n)
	if s.squares {
		s.square[group].AddSquare(n)
	}
}

func (s *sums) merge(group int, from states, other int) {
	f := from.(*sums)
	at, with := &s.list[group], &f.list[other]
	at.count += with.count
	at.sum.AddSum(&with.sum)
	if s.squares {
		s.square[group].AddSum(&f.square[other])
	}
}

func (s *sums) append(b []byte, group int) []byte {
	b = s.list[group].sum.Append(binary.AppendUvarint(b, s.list[group].count))
	if s.squares {
		b = s.square[group].Append(b)
	}
	return b
}

func (s *sums) read(b []byte) (_ []byte, err error) {
	var at sum
	var size int
	if at.count, size = binary.Uvarint(b); size <= 0 {
		return nil, errStates
	}
	if b, err = at.sum.Read(b[size:]); err != nil {
		return nil, err
	}
	s.list = append(s.list, at)
	if s.squares {
		var square exact.Sum
		if b, err = square.Read(b); err != nil {
			return nil, err
		}
		s.square = append(s.square, square)
	}
	return b, nil
}

// result rounds only once, because the sums are exact. The variance is the sample variance. A
// standard deviation is rounded twice, because both the variance and its square root are rounded.
func (s *sums) result(group int, a aggregate) (cell, error) {
	at := &s.list[group]
	switch {
	case a.function == "sum":
		if at.count == 0 {
			return null, nil
		}
		return decimal(at.sum.Number()), nil
	case at.count == 0, a.function != "mean" && at.count == 1:
		return null, nil
	case a.function == "mean":
		return float(at.sum.Quotient(at.count)), nil
	}
	// The sample variance is (Σx² - (Σx)²/n) / (n-1).
	count := new(big.Rat).SetInt(new(big.Int).SetUint64(at.count))
	total := at.sum.Rat()
	total.Quo(total.Mul(total, total), count)
	v := total.Sub(s.square[group].Rat(), total)
	v.Quo(v, count.Sub(count, big.NewRat(1, 1)))
	variance, _ := v.Float64()
	if a.function == "stddev" {
		variance = math.Sqrt(variance)
	}
	return float(variance), nil
}

// extremes contains minima or maxima of numbers or of texts.
type extremes struct {
	column int
	sign   int // -1 for minima, 1 for maxima
	list   []extreme
}

type extreme struct {
	hasNumber, hasText bool
	number             exact.Number
	text               string
	object             string // object that contains the text
	offset             int64  // offset of the text's record in the object
}

func (e *extremes) bind(column int) { e.column = column }
func (e *extremes) grow()           { e.list = append(e.list, extreme{}) }
func (e *extremes) reset()          { e.list = e.list[:0] }

func (e *extremes) add(group int, v *values) {
	at := &e.list[group]
	n, ok := v.number(e.column)
	if ok {
		if !at.hasNumber || n.Compare(&at.number) == e.sign {
			at.number, at.hasNumber = *n, true
		}
		return
	}
	text := v.field(e.column)
	if len(text) > 0 && (!at.hasText || compareText(text, at.text) == e.sign) {
		at.text, at.hasText = string(text), true
		at.object, at.offset = v.record.Object(), v.record.Offset()
	}
}

func (e *extremes) merge(group int, from states, other int) {
	at, with := &e.list[group], &from.(*extremes).list[other]
	if with.hasNumber && (!at.hasNumber || with.number.Compare(&at.number) == e.sign) {
		at.number, at.hasNumber = with.number, true
	}
	if with.hasText && (!at.hasText || compareText([]byte(with.text), at.text) == e.sign) {
		at.text, at.hasText = with.text, true
		at.object, at.offset = with.object, with.offset
	}
}

// append encodes an extreme. A numeric extreme has the encoding of an exact sum of one number.
func (e *extremes) append(b []byte, group int) []byte {
	at := &e.list[group]
	kind := byte(0)
	if at.hasNumber {
		kind |= 1
	}
	if at.hasText {
		kind |= 2
	}
	b = append(b, kind)
	if at.hasNumber {
		var one exact.Sum
		one.Add(&at.number)
		b = one.Append(b)
	}
	if at.hasText {
		b = binary.AppendUvarint(appendText(appendText(b, at.text), at.object), uint64(at.offset))
	}
	return b
}

func (e *extremes) read(b []byte) (_ []byte, err error) {
	if len(b) == 0 || b[0] > 3 {
		return nil, errStates
	}
	at := extreme{hasNumber: b[0]&1 != 0, hasText: b[0]&2 != 0}
	b = b[1:]
	if at.hasNumber {
		var one exact.Sum
		if b, err = one.Read(b); err != nil {
			return nil, err
		}
		at.number = one.Number()
	}
	if at.hasText {
		if b, err = at.readText(b); err != nil {
			return nil, err
		}
	}
	e.list = append(e.list, at)
	return b, nil
}

// readText decodes the text of an extreme and its position.
func (x *extreme) readText(b []byte) (_ []byte, err error) {
	text, b, err := readText(b)
	if err != nil {
		return nil, err
	}
	object, b, err := readText(b)
	if err != nil {
		return nil, err
	}
	offset, size := binary.Uvarint(b)
	if size <= 0 || offset > math.MaxInt64 {
		return nil, errStates
	}
	x.text, x.object, x.offset = string(text), string(object), int64(offset)
	return b[size:], nil
}

func (e *extremes) result(group int, a aggregate) (cell, error) {
	switch at := e.list[group]; {
	case at.hasNumber && at.hasText:
		return null, mixedError{a.column, at.number.String(), at.text, at.object, at.offset}
	case at.hasNumber:
		return decimal(at.number.Short()), nil
	case at.hasText:
		return text(at.text), nil
	}
	return null, nil
}

func appendText[T string | []byte | row](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func readText(b []byte) (text, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, errStates
	}
	return b[size : size+int(n)], b[size+int(n):], nil
}

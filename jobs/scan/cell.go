package scan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// cell is one value in the result table.
type cell struct {
	kind   kind
	text   string
	number exact.Number // value of a decimal or an integer
	float  float64
}

// kind is the type of a cell. When cells are sorted, their kinds are in the order of these
// constants.
type kind uint8

const (
	isNull kind = iota
	isInteger
	isDecimal
	isFloat
	isString
)

var null = cell{}

func integer(n uint64) cell {
	if n < 1e18 {
		return cell{kind: isInteger, number: exact.New(int64(n), 0)}
	}
	return cell{kind: isInteger, number: exact.NewBig(new(big.Int).SetUint64(n), 0)}
}

func decimal(n exact.Number) cell { return cell{kind: isDecimal, number: n} }
func float(f float64) cell        { return cell{kind: isFloat, float: f} }
func text(s string) cell          { return cell{kind: isString, text: s} }

// String returns the value in the form in which outputs contain it. The text of null is empty.
func (c cell) String() string {
	if c.kind == isString {
		return c.text
	}
	return string(c.append(nil))
}

// append appends the text that String returns.
func (c *cell) append(b []byte) []byte {
	switch c.kind {
	case isInteger, isDecimal:
		return c.number.Append(b)
	case isFloat:
		return strconv.AppendFloat(b, c.float, 'g', -1, 64)
	}
	return append(b, c.text...)
}

// MarshalJSON encodes a cell. Decimals are encoded as strings, because many JSON readers round
// numbers. Infinities are encoded as "+Inf" and "-Inf", because JSON has no such numbers.
func (c cell) MarshalJSON() ([]byte, error) {
	switch c.kind {
	case isInteger:
		return []byte(c.number.String()), nil
	case isDecimal:
		return json.Marshal(c.number.String())
	case isFloat:
		if math.IsInf(c.float, 0) { // a variance can be larger than all floats
			return json.Marshal(c.String())
		}
		return json.Marshal(c.float)
	case isString:
		return json.Marshal(c.text)
	}
	return []byte("null"), nil
}

// compareCells compares values of one column of the result.
func compareCells(a, b cell) int {
	switch {
	case a.kind != b.kind:
		return cmp.Compare(a.kind, b.kind)
	case a.kind == isFloat:
		return cmp.Compare(a.float, b.float)
	case a.kind == isString:
		return compareTexts([]byte(a.text), []byte(b.text))
	case a.kind == isNull:
		return 0
	}
	return a.number.Compare(&b.number)
}

// compareFields compares fields of rows. Empty fields sort before numbers, and numbers sort before
// texts.
func compareFields(a, b []byte) int {
	x, xNumber := exact.Parse(a)
	y, yNumber := exact.Parse(b)
	rank := func(field []byte, number bool) int {
		switch {
		case len(field) == 0:
			return 0
		case number:
			return 1
		}
		return 2
	}
	if order := cmp.Compare(rank(a, xNumber), rank(b, yNumber)); order != 0 {
		return order
	}
	if xNumber && yNumber {
		if order := x.Compare(&y); order != 0 {
			return order
		}
	}
	return compareTexts(a, b)
}

func compareText(a []byte, b string) int { return compareTexts(a, []byte(b)) }

// mixedError is the error for a column that contains both numbers and other text.
type mixedError struct {
	column, number, text string
	object               string // object that contains the text
	offset               int64  // offset of the text's record in the object
}

func (e mixedError) Error() string {
	text := fmt.Sprintf("column %q has numbers, such as %s, and other text, such as %.80q here: leave out one kind with the parameter where", e.column, e.number, e.text)
	return (&dataset.Fault{Object: e.object, Offset: e.offset, Text: text}).Error()
}

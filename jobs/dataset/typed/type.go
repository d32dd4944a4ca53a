package typed

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is the kind of a type.
type Kind uint8

// These constants are the kinds.
const (
	Text Kind = iota
	Integer
	Decimal
	Float
	Boolean
	Date
	Timestamp
)

// MaxPrecision is the maximum number of digits of a decimal type that has a precision.
const MaxPrecision = 38

// Type is the type of the values of a column. The zero value is text.
type Type struct {
	Kind             Kind
	Precision, Scale int  // digits of a decimal, and those after its point; Precision is 0 for any number of digits
	Nanoseconds      bool // unit of a timestamp; otherwise microseconds
}

var names = map[string]Type{
	"text": {}, "integer": {Kind: Integer}, "decimal": {Kind: Decimal}, "float": {Kind: Float}, "boolean": {Kind: Boolean},
	"date": {Kind: Date}, "timestamp": {Kind: Timestamp}, "timestamp(ns)": {Kind: Timestamp, Nanoseconds: true},
}

// Parse returns the type with a name.
func Parse(name string) (Type, error) {
	if t, ok := names[name]; ok {
		return t, nil
	}
	if digits, ok := strings.CutPrefix(name, "decimal("); ok && strings.HasSuffix(digits, ")") {
		precision, scale, _ := strings.Cut(strings.TrimSuffix(digits, ")"), ",")
		p, pErr := strconv.Atoi(strings.TrimSpace(precision))
		s, sErr := strconv.Atoi(strings.TrimSpace(scale))
		if pErr == nil && sErr == nil && p >= 1 && p <= MaxPrecision && s >= 0 && s <= p {
			return NewDecimal(p, s), nil
		}
		return Type{}, fmt.Errorf("type %s: want decimal(P,S) with P digits, at most %d, of which S are after the point", name, MaxPrecision)
	}
	return Type{}, fmt.Errorf("there is no type %q: want text, integer, decimal(P,S), decimal, float, boolean, date, timestamp or timestamp(ns)", name)
}

// NewDecimal returns the type of decimals with a number of digits, of which scale are after the point.
func NewDecimal(precision, scale int) Type {
	return Type{Kind: Decimal, Precision: precision, Scale: scale}
}

// String returns the name of the type.
func (t Type) String() string {
	if t.Kind == Decimal && t.Precision > 0 {
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	}
	for name, other := range names {
		if other == t {
			return name
		}
	}
	return "text"
}

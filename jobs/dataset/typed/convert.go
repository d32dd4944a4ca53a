package typed

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// Error is the error for a field that is not a value of its column's type.
type Error struct {
	Field []byte // beginning of the field
	Type  Type
}

const maxQuoted = 80

func (t Type) refuse(field []byte) error { return &Error{field[:min(len(field), maxQuoted)], t} }

func (e *Error) Error() string { return fmt.Sprintf("%q is no %s", e.Field, e.Type) }

// OfColumn returns the error for a column of an output.
func OfColumn(name string, err error) error {
	if _, ok := errors.AsType[*Error](err); !ok {
		return err
	}
	return fmt.Errorf("column %q of the output: %w: give another type with the parameter types, such as types=%[1]s:text", name, err)
}

// Integer returns a field as an integer.
func (t Type) Integer(field []byte) (int64, error) {
	if n, err := strconv.ParseInt(string(field), 10, 64); err == nil {
		return n, nil
	}
	n, ok := unscaled(field, 0)
	if !ok || !n.IsInt64() {
		return 0, t.refuse(field)
	}
	return n.Int64(), nil
}

// Unscaled returns a field as a decimal of the type, multiplied by ten to the power of the type's scale.
func (t Type) Unscaled(field []byte) (*big.Int, error) {
	n, ok := unscaled(field, t.Scale)
	if !ok || new(big.Int).Abs(n).Cmp(power(t.Precision)) >= 0 {
		return nil, t.refuse(field)
	}
	return n, nil
}

func power(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// unscaled returns a number, multiplied by ten to the power of scale. It returns false if the field is not a number or has more
// digits after the point.
func unscaled(field []byte, scale int) (*big.Int, bool) {
	n, ok := exact.Parse(field)
	if n = n.Short(); !ok || n.Scale > scale {
		return nil, false
	}
	m := n.Big
	if m == nil {
		m = big.NewInt(n.Mantissa)
	}
	return new(big.Int).Mul(m, power(scale-n.Scale)), true
}

// Float returns a field as the nearest float64, which is infinite or NaN only if the text says so.
func (t Type) Float(field []byte) (float64, error) {
	if n, ok := exact.Parse(field); ok {
		if f := n.Float(); !math.IsInf(f, 0) {
			return f, nil
		}
		return 0, t.refuse(field)
	}
	f, err := strconv.ParseFloat(string(field), 64)
	if err != nil || !math.IsInf(f, 0) && !math.IsNaN(f) {
		return 0, t.refuse(field)
	}
	return f, nil
}

// Boolean returns a field as a truth value.
func (t Type) Boolean(field []byte) (bool, error) {
	switch strings.ToLower(string(field)) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, t.refuse(field)
}

// forms are the forms of timestamps. Those without a zone are in UTC.
var forms = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", time.DateOnly}

// Time returns a field of a date or a timestamp, in UTC.
func (t Type) Time(field []byte) (time.Time, error) {
	tries := forms
	if t.Kind == Date {
		tries = forms[len(forms)-1:]
	}
	for _, form := range tries {
		if at, err := time.Parse(form, string(field)); err == nil && t.holds(at) {
			return at.UTC(), nil
		}
	}
	return time.Time{}, t.refuse(field)
}

// holds reports whether a timestamp of four digits for the year, and its unit, can represent a time.
func (t Type) holds(at time.Time) bool {
	if year := at.UTC().Year(); year < 0 || year > 9999 {
		return false
	}
	if t.Nanoseconds {
		return time.Unix(0, at.UnixNano()).Equal(at)
	}
	return at.Nanosecond()%1000 == 0
}

// Check returns an error if a field that is not empty is not a value of the type.
func (t Type) Check(field []byte) error {
	_, err := t.AppendJSON(nil, field)
	return err
}

// AppendJSON appends a field that is not empty as a JSON value. Numbers keep all their digits. Infinities and NaN, which JSON
// does not have, are the texts +Inf, -Inf and NaN.
func (t Type) AppendJSON(b, field []byte) ([]byte, error) {
	switch t.Kind {
	case Integer:
		n, err := t.Integer(field)
		return strconv.AppendInt(b, n, 10), err
	case Decimal:
		return t.appendDecimal(b, field)
	case Float:
		f, err := t.Float(field)
		switch {
		case err != nil:
		case math.IsInf(f, 0) || math.IsNaN(f):
			return strconv.AppendQuote(b, strconv.FormatFloat(f, 'g', -1, 64)), nil
		case json.Valid(field):
			return append(b, field...), nil
		}
		return strconv.AppendFloat(b, f, 'g', -1, 64), err
	case Boolean:
		is, err := t.Boolean(field)
		return strconv.AppendBool(b, is), err
	case Date:
		at, err := t.Time(field)
		return strconv.AppendQuote(b, at.Format(time.DateOnly)), err
	case Timestamp:
		at, err := t.Time(field)
		return strconv.AppendQuote(b, at.Format(time.RFC3339Nano)), err
	}
	return AppendText(b, field), nil
}

func (t Type) appendDecimal(b, field []byte) ([]byte, error) {
	n, ok := exact.Parse(field)
	if !ok {
		return b, t.refuse(field)
	}
	if t.Precision > 0 {
		if _, err := t.Unscaled(field); err != nil {
			return b, err
		}
	}
	if json.Valid(field) {
		return append(b, field...), nil
	}
	return append(b, n.String()...), nil
}

// AppendText appends a text as a JSON string.
func AppendText(b, text []byte) []byte {
	if isPlain(text) {
		return append(append(append(b, '"'), text...), '"')
	}
	quoted, err := json.Marshal(string(text))
	if err != nil {
		panic(err) // a string can always be encoded
	}
	return append(b, quoted...)
}

// isPlain reports whether a text needs no escaping in JSON.
func isPlain(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

package scan

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// values contains the fields of one record, or of one row of the result. It keeps the parsed number of
// each field, so that no field is parsed more than once.
type values struct {
	record  *dataset.Record
	cells   []cell         // fields of a row of the result, if record is nil
	derived []derivedField // fields of the first columns
	made    int64          // number of bytes of the derived fields
	err     error          // first error of a derived field
	names   []string
	numbers []exact.Number
	states  []numberState
}

type numberState uint8

const (
	unparsed numberState = iota
	isNumber
	isText
)

func newValues(names []string) *values {
	return &values{names: names, numbers: make([]exact.Number, len(names)), states: make([]numberState, len(names))}
}

// set replaces the record.
func (v *values) set(r *dataset.Record) {
	v.record = r
	clear(v.states)
	if len(v.derived) > 0 {
		v.made, v.err = 0, nil
		for i := range v.derived {
			v.derived[i].known = false
		}
	}
}

// setCells replaces the row of the result.
func (v *values) setCells(line []cell) {
	v.cells = line
	clear(v.states)
}

// satisfies reports whether a test selects the record. Nil selects every record.
func (v *values) satisfies(where test) (bool, error) {
	if where == nil {
		return true, nil
	}
	ok, err := where(v)
	return ok, cmp.Or(v.err, err)
}

func (v *values) field(column int) []byte {
	if v.record == nil {
		return []byte(v.cells[column].String())
	}
	if column < len(v.derived) {
		return v.derive(column)
	}
	return v.record.Field(column - len(v.derived))
}

// isTime reports whether the column of a Parquet object has a type of dates or times.
func (v *values) isTime(column int) bool {
	return v.record != nil && column >= len(v.derived) && v.record.IsTime(column-len(v.derived))
}

// isFloat reports whether the column of a Parquet object has a type of floats.
func (v *values) isFloat(column int) bool {
	return column >= len(v.derived) && v.record.IsFloat(column-len(v.derived))
}

// number returns a field as a number, and returns false if the field is not a number. The field
// must not be empty.
func (v *values) number(column int) (*exact.Number, bool) {
	if v.states[column] == unparsed {
		v.parse(column)
	}
	return &v.numbers[column], v.states[column] == isNumber
}

// parse sets the state of a field that is unparsed, and its number.
func (v *values) parse(column int) {
	ok := false
	switch {
	case column < len(v.derived):
		ok = v.deriveNumber(column) || v.numbers[column].Parse(v.derive(column))
	case v.record == nil:
		ok = v.numbers[column].Parse(v.field(column))
	default:
		ok = v.record.Number(column-len(v.derived), &v.numbers[column])
	}
	v.states[column] = isText
	if ok {
		v.states[column] = isNumber
	}
}

// notFinite returns a field as a float if the field is the text of an infinity or of NaN. The field
// must not be a number.
func (v *values) notFinite(column int) (f float64, ok bool) {
	f, err := strconv.ParseFloat(string(v.field(column)), 64)
	return f, err == nil && (math.IsInf(f, 0) || math.IsNaN(f))
}

// float returns a field as a float, which may be infinite or NaN.
func (v *values) float(column int) (float64, bool) {
	if n, ok := v.number(column); ok {
		return n.Float(), true
	}
	return v.notFinite(column)
}

// noNumber is the error for a field that must be a number.
func (v *values) noNumber(column int) error {
	const most = 80
	text := v.field(column)
	if v.record == nil {
		return fmt.Errorf("%s is %q: want a number", v.names[column], text[:min(len(text), most)])
	}
	return fmt.Errorf("column %q is %q: want %s (use where to leave out such rows, or on-error=skip)", v.names[column], text[:min(len(text), most)], v.record.NumberForm())
}

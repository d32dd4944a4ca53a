package scan

import (
	"bytes"
	"cmp"
	"fmt"
	"time"

	"github.com/expr-lang/expr/ast"
)

// moment is a time in the form in which times are compared.
type moment struct {
	clock bool   // true for a time of day, which has no date
	key   []byte // text without Z, without zeros at the end of the fraction, and without midnight: moments have the order of their keys
}

const (
	dateShape    = "dddd-dd-dd"
	instantShape = dateShape + "Tdd:dd:dd"
	clockShape   = "dd:dd:dd"
)

var midnight = []byte("T00:00:00")

// instant returns a timestamp in the form of Parquet objects, such as 2026-11-22T21:04:00.5Z, or a time of
// day, such as 21:04:00.5. For another text, ok is false.
func instant(text []byte) (m moment, ok bool) {
	shape := clockShape
	if last := len(text) - 1; last >= len(instantShape) && text[last] == 'Z' {
		text, shape = text[:last], instantShape
	}
	if len(text) < len(shape) || !hasShape(text, shape) {
		return m, false
	}
	if len(text) > len(shape) {
		text = bytes.TrimRight(bytes.TrimRight(text, "0"), ".")
	}
	return moment{len(shape) == len(clockShape), bytes.TrimSuffix(text, midnight)}, true
}

// hasShape reports whether a text has a shape, in which d is a digit, and perhaps a fraction after it.
func hasShape(text []byte, shape string) bool {
	for i, c := range text {
		want := byte('d')
		if i < len(shape) {
			want = shape[i]
		} else if i == len(shape) {
			want = '.'
		}
		if digit := c-'0' <= 9; digit != (want == 'd') || !digit && c != want {
			return false
		}
	}
	return true
}

// compareTexts compares two texts by bytes, and two instants by their time. It is a total order, also of instants and
// other texts, because each text has one key. It returns 0 only for equal texts.
func compareTexts(a, b []byte) int {
	return cmp.Or(bytes.Compare(textKey(a), textKey(b)), bytes.Compare(a, b))
}

func textKey(text []byte) []byte {
	if m, ok := instant(text); ok {
		return m.key
	}
	return text
}

var (
	timeForms  = []string{time.RFC3339Nano, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04", time.DateOnly}
	clockForms = []string{time.TimeOnly, "15:04"}
)

// constantMoment returns the time of a constant in the parameter where, in UTC if it names no zone.
func constantMoment(constant string) (m moment, ok bool) {
	if t, err := timeOf(constant); err == nil {
		return instant(t.AppendFormat(nil, time.RFC3339Nano))
	}
	for _, form := range clockForms {
		if t, err := time.Parse(form, constant); err == nil {
			return instant(t.AppendFormat(nil, "15:04:05.999999999"))
		}
	}
	return m, false
}

// textOrder returns a function that compares the fields of a column with a constant text. A field that is
// an instant or a date is compared with the time of the constant, if it is the text of a time or of a date. For
// a column of times of a Parquet object, another constant is an error.
func textOrder(column int, constant string) func(v *values) (int, error) {
	want := []byte(constant)
	at, isTime := constantMoment(constant)
	return func(v *values) (int, error) {
		field := v.field(column)
		if !isTime && !v.isTime(column) {
			return bytes.Compare(field, want), nil
		}
		if m, ok := fieldMoment(field); ok {
			if isTime && m.clock == at.clock {
				return bytes.Compare(m.key, at.key), nil
			}
			if v.isTime(column) {
				return 0, v.noTime(column, constant)
			}
		}
		return bytes.Compare(field, want), nil
	}
}

// fieldMoment returns the time of a field that is an instant, or of the beginning of a date.
func fieldMoment(field []byte) (m moment, ok bool) {
	if len(field) == len(dateShape) && hasShape(field, dateShape) {
		return moment{key: field}, true
	}
	return instant(field)
}

// noTime is the error for a column of times that is compared with a text that is no such time.
func (v *values) noTime(column int, constant string) error {
	return errNoTime(v.names[column], constant, string(v.field(column)))
}

func errNoTime(column, constant, example string) error {
	return fmt.Errorf("column %q is a time, and %.80q is not: want a text such as '%s'", column, constant, example)
}

// checkTimes returns the error of noTime for a simple operand of the condition. The parameter times has an
// example of the texts of each column of times.
func checkTimes(node ast.Node, times map[string]string) error {
	switch n := node.(type) {
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			return checkTimes(n.Node, times)
		}
	case *ast.BinaryNode:
		switch n.Operator {
		case "and", "&&", "or", "||":
			return cmp.Or(checkTimes(n.Left, times), checkTimes(n.Right, times))
		case "in":
			if list, ok := n.Right.(*ast.ArrayNode); ok {
				for _, one := range list.Nodes {
					if err := checkTime(n.Left, one, times, true); err != nil {
						return err
					}
				}
			}
		}
		if _, ok := signs[n.Operator]; ok {
			return cmp.Or(checkTime(n.Left, n.Right, times, false), checkTime(n.Right, n.Left, times, false))
		}
	}
	return nil
}

// checkTime checks the comparison of a column with a constant. A list may have times of day beside dates.
func checkTime(column, constant ast.Node, times map[string]string, list bool) error {
	id, ok := column.(*ast.IdentifierNode)
	text, also := constant.(*ast.StringNode)
	if !ok || !also || times[id.Value] == "" {
		return nil
	}
	example := times[id.Value]
	want, _ := fieldMoment([]byte(example))
	if at, ok := constantMoment(text.Value); ok && (list || at.clock == want.clock) {
		return nil
	}
	return errNoTime(id.Value, text.Value, example)
}

// textSet returns a test whether the field of a column is one of the constants.
func textSet(column int, constants []string) test {
	texts, moments := map[string]bool{}, map[string]bool{}
	noTime := ""
	for _, c := range constants {
		texts[c] = true
		if m, ok := constantMoment(c); ok {
			moments[string(m.key)] = true // the keys of instants and of times of day differ
		} else if noTime == "" {
			noTime = c
		}
	}
	return func(v *values) (bool, error) {
		field := v.field(column)
		if texts[string(field)] {
			return true, nil
		}
		if noTime != "" && len(field) > 0 && v.isTime(column) {
			return false, v.noTime(column, noTime)
		}
		if len(moments) > 0 {
			m, ok := fieldMoment(field)
			return ok && moments[string(m.key)], nil
		}
		return false, nil
	}
}

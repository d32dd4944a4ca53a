package scan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/internal/names"
)

// derived is a column that the parameter let computes from other columns.
type derived struct {
	name       string
	expression *condition
}

var keywords = strings.Fields("true false nil not and or in matches contains startsWith endsWith let if else")

// parseLet parses the value of the parameter let: definitions such as month = ts[0:7], separated by
// semicolons.
func parseLet(text string) (all []derived, err error) {
	begin := 0
	for i, c := range outsideTexts(text + ";") {
		if c != ';' {
			continue
		}
		if part := strings.TrimSpace(text[begin:i]); part != "" {
			d, err := parseDerived(part)
			if err == nil && slices.ContainsFunc(all, func(o derived) bool { return o.name == d.name }) {
				err = fmt.Errorf("%s is defined twice", d.name)
			}
			if err != nil {
				return nil, fmt.Errorf("parameter let: %w", err)
			}
			all = append(all, d)
		}
		begin = min(i+1, len(text))
	}
	if rest := strings.TrimSpace(text[begin:]); rest != "" {
		return nil, fmt.Errorf("parameter let: %q: a text has no closing quote", rest)
	}
	return all, nil
}

func parseDerived(part string) (d derived, err error) {
	name, source, ok := strings.Cut(part, "=")
	d.name = strings.TrimSpace(name)
	if !ok || strings.HasPrefix(source, "=") || !identifier.MatchString(d.name) || strings.Contains(d.name, "$") || slices.Contains(keywords, d.name) {
		return d, fmt.Errorf("%q: want a name and an expression, such as month = ts[0:7]", part)
	}
	if d.expression, err = parseExpression(source); err != nil {
		return d, fmt.Errorf("%s: %w", d.name, err)
	}
	return d, nil
}

// letNames returns the names of the derived columns.
func (q query) letNames() (list []string) {
	for _, d := range q.let {
		list = append(list, d.name)
	}
	return list
}

// letInputs returns the columns of the input that the derived columns are computed from. An expression may
// use the names before its own. Other names are columns of the input, also if a derived column has the
// same name.
func (q query) letInputs() (columns []string) {
	derived := q.letNames()
	for i, d := range q.let {
		for _, name := range d.expression.columns {
			if !slices.Contains(derived[:i], name) {
				columns = append(columns, name)
			}
		}
	}
	return columns
}

// openValues returns values of the derived columns, followed by those of the given columns of the input.
func (q query) openValues(inputs []string) (*values, error) {
	derived := q.letNames()
	v := newValues(slices.Concat(derived, inputs))
	positions := names.Positions(inputs)
	for i, d := range q.let {
		for _, name := range d.expression.columns {
			if _, ok := positions[name]; !ok && !slices.Contains(derived[:i], name) {
				return nil, fmt.Errorf("parameter let: %s: %w", d.name, names.Missing(name, slices.Concat(derived[:i], inputs)))
			}
		}
		index := func(name string) int {
			if at := slices.Index(derived[:i], name); at >= 0 {
				return at
			}
			return len(derived) + positions[name]
		}
		compute, number, err := d.expression.compileText(index)
		if err != nil {
			return nil, fmt.Errorf("parameter let: %s: %w", d.name, err)
		}
		field := derivedField{compute: compute, number: number}
		field.column, field.shift, field.shifted = shiftOf(d.expression.tree, index)
		v.derived = append(v.derived, field)
	}
	return v, nil
}

// derivedField is the field of a derived column of a record.
type derivedField struct {
	compute textOf
	number  numberOf // computes the field if it is a number, without its text; nil if compute has to
	known   bool
	text    []byte

	shifted bool // true if the field is the sum of a column and of an integer
	column  int
	shift   int64
}

// derive returns the field of a derived column, which is computed when a record needs it first. After an
// error the field is missing, and the record is bad.
func (v *values) derive(column int) []byte {
	d := &v.derived[column]
	if d.known {
		return d.text
	}
	if v.deriveNumber(column) {
		d.known, d.text = true, v.numbers[column].Append(d.text[:0])
		return d.text
	}
	text, err := d.compute(v)
	if v.made += int64(len(text)); err == nil && v.made > maxMade {
		err = fmt.Errorf("the derived columns of a record have more than %d bytes: want shorter texts", maxMade)
	}
	if err != nil {
		v.err = cmp.Or(v.err, fmt.Errorf("parameter let: %s: %w", v.names[column], err))
		text = nil
	}
	d.known, d.text = true, text
	return text
}

// deriveNumber computes the number of a derived column, and returns false if its text must be computed.
func (v *values) deriveNumber(column int) bool {
	if v.states[column] == unparsed && v.derived[column].number != nil {
		if n, ok, err := v.derived[column].number(v); ok && err == nil {
			if n.Scale > 0 {
				n = n.Short()
			}
			v.numbers[column], v.states[column] = n, isNumber
		}
	}
	return v.states[column] == isNumber
}

// need computes those of the columns that are derived.
func (v *values) need(columns []int) error {
	for _, c := range columns {
		if c >= 0 && c < len(v.derived) && !v.deriveNumber(c) {
			v.derive(c)
		}
	}
	return v.err
}

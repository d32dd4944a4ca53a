package scan

import (
	"encoding/binary"

	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
	"github.com/bellwether-compute/bellwether/jobs/dataset/typed"
	"github.com/bellwether-compute/bellwether/jobs/internal/names"
)

// rowFields makes the rows of a query without aggregates.
type rowFields struct {
	names  []string
	of     []int         // columns of the fields
	given  []*typed.Type // types that the parameter types gives the columns; nil for the others
	checks bool          // whether the parameter types gives a column a type
	keeps  bool          // whether the fields of JSON objects stay JSON values, which the output contains as they are
	json   bool          // whether there were such fields
	text   []byte        // memory for a field
}

func (q query) newRowFields(p Params, v *values, columns []string) *rowFields {
	f := &rowFields{names: columns, of: make([]int, len(columns)), given: make([]*typed.Type, len(columns)), checks: len(q.types) > 0}
	f.keeps = p.Output != "" && p.OutputFormat == string(output.NDJSON)
	positions := names.Positions(v.names)
	for i, name := range columns {
		f.of[i] = positions[name]
		if t, ok := q.given(name); ok {
			f.given[i] = &t
		}
	}
	return f
}

// row returns the row of a record. It returns an error if a field is not a value of the type that the parameter types gives it.
func (f *rowFields) row(v *values) (r row, err error) {
	for i, c := range f.of {
		field := v.field(c)
		switch t := f.given[i]; {
		case t != nil && len(field) > 0:
			if err := t.Check(field); err != nil {
				return nil, typed.OfColumn(f.names[i], err)
			}
		case t == nil && f.keeps && c >= len(v.derived):
			if text, ok := v.record.AppendJSON(f.text[:0], c-len(v.derived)); ok {
				f.text, field, f.json = text, text, true
			}
		}
		r = append(binary.AppendUvarint(r, uint64(len(field))), field...)
	}
	return r, nil
}

package dataset

import (
	"context"

	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
	"github.com/bellwether-compute/bellwether/jobs/dataset/typed"
)

// outputTypes returns the types of the columns of the objects, as in Place. The parameter wanted is what the job's Columns
// returns. The types depend only on the plan, so that all objects of an output have one schema.
func (r reader) outputTypes(ctx context.Context, data planData, l listing, wanted []string) (map[string]string, error) {
	types := map[string]string{}
	switch data.Format {
	case ndjson:
		if data.Columns != nil {
			wanted = data.Columns
		}
		for _, name := range wanted {
			types[name] = output.JSON
		}
	case avroFormat:
		f, _, err := r.firstAvro(ctx, l)
		if err != nil || f == nil {
			return nil, err
		}
		s, _ := f.Select(data.Columns)
		for i, t := range s.Typed() {
			if t.Kind != typed.Text {
				types[data.Columns[i]] = t.String()
			}
		}
	case parquetFormat:
		known, _, _, err := r.columnTypes(ctx, data.samples(l))
		if err != nil {
			return nil, err
		}
		for name, t := range known {
			if t.Kind != typed.Text {
				types[name] = t.String()
			}
		}
	}
	return types, nil
}

// AppendJSON appends the field of column i as a JSON value if it is a member of a JSON object: a string in quotes, and another
// value as the object has it. A missing value appends nothing. AppendJSON returns false if the column is not a member.
func (r *Record) AppendJSON(b []byte, i int) ([]byte, bool) {
	at := i
	if r.layout.order != nil {
		at = r.layout.order[i]
	}
	if r.layout.format != ndjson || r.layout.wanted == nil || at < 0 {
		return b, false
	}
	field := r.Field(i)
	switch {
	case field == nil:
		return b, true
	case r.raw[r.want[at]]:
		return append(b, field...), true
	}
	return typed.AppendText(b, field), true
}

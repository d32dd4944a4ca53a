package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// previewBytes is the number of bytes at the beginning of an object from which the types of the
// columns are guessed.
const previewBytes = 64 << 10

// preview describes the input of a job. For Parquet and Avro objects, preview uses the types of the first
// object's columns. The types of other columns are guessed from the first records.
func (e *engine[P, A, R]) preview(ctx context.Context, p P, plan jobs.Plan) (v jobs.Preview, err error) {
	in, err := e.input(p)
	if err != nil {
		return v, err
	}
	data, l, err := decodePlan(plan)
	if err != nil {
		return v, err
	}
	reader := newReader(e.open(ctx)).decoding(in)
	v.Objects, v.Columns = len(l), []jobs.PreviewColumn{}
	for _, o := range l {
		v.Bytes += o.Size
	}
	if data.Format.typed() {
		v.Columns, err = reader.typedColumns(ctx, data, l)
		return v, err
	}
	names := data.Columns
	switch {
	case data.Format == ndjson:
		names = e.columns(p)
	case names != nil:
		names = slices.Concat(names, l.pathColumns(names))
	}
	types := make([]string, len(names))
	for i, o := range l {
		if o.Size > 0 {
			columns := data.Columns
			if len(data.Headers) > 0 {
				columns = data.Headers[data.HeaderOf[i]]
			}
			if types, err = reader.guess(ctx, o, newLayout(in, data.Format, columns, names, nil), len(names)); err != nil {
				return v, err
			}
			break
		}
	}
	for i, name := range names {
		if types[i] == "" {
			types[i] = "text"
		}
		v.Columns = append(v.Columns, jobs.PreviewColumn{Name: name, Type: types[i]})
	}
	return v, nil
}

// typedColumns describes the columns of Parquet and Avro objects.
func (r reader) typedColumns(ctx context.Context, data planData, l listing) (columns []jobs.PreviewColumn, err error) {
	types, _, err := r.types(ctx, data, l)
	if err != nil {
		return nil, err
	}
	columns = []jobs.PreviewColumn{}
	for i, name := range data.Columns {
		columns = append(columns, jobs.PreviewColumn{Name: name, Type: cmp.Or(types[i], "text")})
	}
	for _, name := range l.pathColumns(data.Columns) {
		value, _ := pathColumn(l[0].Name, name)
		columns = append(columns, jobs.PreviewColumn{Name: name, Type: cmp.Or(wider("", value), "text")})
	}
	for _, name := range r.omitted(ctx, data.Format, data.samples(l)) {
		columns = append(columns, jobs.PreviewColumn{Name: name, Type: "cannot be read"})
	}
	return columns, nil
}

func decodePlan(plan jobs.Plan) (data planData, l listing, err error) {
	if err = cbor.Unmarshal(plan.Data, &data); err == nil {
		l, err = decodeListing(data.Listing)
	}
	if err != nil {
		err = fmt.Errorf("decode plan: %w", err)
	}
	return data, l, err
}

// guess returns the narrowest type of the fields of each of n columns in the first records of an
// object, or an empty type if all fields are empty. Records that cannot be read are ignored.
func (r reader) guess(ctx context.Context, o source.Object, l *layout, n int) ([]string, error) {
	types := make([]string, n)
	rec, err := l.newRecord()
	if err != nil {
		return nil, err
	}
	f := &folder[int]{layout: l, skip: true, rec: rec, start: func() int { return 0 }}
	f.fold = func(_ *int, r *Record) error {
		for i := range types {
			types[i] = wider(types[i], r.Field(i))
		}
		return nil
	}
	c, err := r.content(ctx, o, 0, o.Size)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	text := make([]byte, previewBytes)
	read, err := c.fill(text)
	s := newScanner(f, o, 0, false, true)
	s.feed(text[:read], l.hasQuotes(text[:read]))
	if errors.Is(err, io.EOF) {
		s.endObject()
		err = nil
	}
	return types, err
}

// wider returns the narrowest type that includes both the type typ and the given field.
func wider(typ string, field []byte) string {
	if len(field) == 0 || typ == "text" {
		return typ
	}
	switch n, ok := exact.Parse(field); {
	case !ok:
		return "text"
	case typ == "decimal" || n.Scale > 0 || strings.ContainsAny(string(field), ".eE"):
		return "decimal"
	}
	return "integer"
}

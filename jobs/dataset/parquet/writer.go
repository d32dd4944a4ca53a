package parquet

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	library "github.com/parquet-go/parquet-go"
)

// Writer writes the rows of an object. All columns are optional.
type Writer struct {
	out   bytes.Buffer
	w     *library.GenericWriter[any]
	types []string
	row   library.Row
}

// ordered is a group whose columns keep the order in which they were given.
type ordered struct {
	library.Group
	fields []library.Field
}

// Fields implements library.Node.
func (o *ordered) Fields() []library.Field { return o.fields }

// NewWriter returns a Writer for columns with the given names and types: text, integer, decimal or
// float. A decimal is stored as text, because Parquet has no decimals of arbitrary precision.
func NewWriter(names, types []string) (w *Writer, err error) {
	defer recoverTo(&err)
	group := library.Group{}
	for i, name := range names {
		node := library.String()
		switch types[i] {
		case "integer":
			node = library.Int(64)
		case "float":
			node = library.Leaf(library.DoubleType)
		}
		if _, again := group[name]; again {
			return nil, fmt.Errorf("there are several columns %q: want different names", name)
		}
		group[name] = library.Optional(node)
	}
	positions, fields := make(map[string]int, len(names)), group.Fields()
	for i, name := range names {
		positions[name] = i
	}
	slices.SortFunc(fields, func(a, b library.Field) int { return positions[a.Name()] - positions[b.Name()] })
	w = &Writer{types: types, row: make(library.Row, len(names))}
	w.w = library.NewGenericWriter[any](&w.out, library.NewSchema("rows", &ordered{group, fields}), library.Compression(&library.Zstd))
	return w, nil
}

// Add adds a row. An empty field is null.
func (w *Writer) Add(fields [][]byte) (err error) {
	defer recoverTo(&err)
	for i, field := range fields {
		if len(field) == 0 {
			w.row[i] = library.NullValue().Level(0, 0, i)
			continue
		}
		var v library.Value
		switch w.types[i] {
		case "integer":
			n, err := strconv.ParseInt(string(field), 10, 64)
			if err != nil {
				return err
			}
			v = library.Int64Value(n)
		case "float":
			f, err := strconv.ParseFloat(string(field), 64)
			if err != nil {
				return err
			}
			v = library.DoubleValue(f)
		default:
			v = library.ByteArrayValue(field)
		}
		w.row[i] = v.Level(0, 1, i)
	}
	_, err = w.w.WriteRows([]library.Row{w.row})
	return err
}

// Finish returns the object.
func (w *Writer) Finish() (content []byte, err error) {
	defer recoverTo(&err)
	if err := w.w.Close(); err != nil {
		return nil, err
	}
	return w.out.Bytes(), nil
}

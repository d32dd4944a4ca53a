package parquet

import (
	"bytes"
	"fmt"
	"math/big"
	"slices"
	"time"

	library "github.com/parquet-go/parquet-go"

	"github.com/bellwether-compute/bellwether/jobs/dataset/typed"
)

// Writer writes the rows of an object. All columns are optional.
type Writer struct {
	out   bytes.Buffer
	w     *library.GenericWriter[any]
	names []string
	types []typed.Type
	row   library.Row
}

// ordered is a group whose columns keep the order in which they were given.
type ordered struct {
	library.Group
	fields []library.Field
}

// Fields implements library.Node.
func (o *ordered) Fields() []library.Field { return o.fields }

// NewWriter returns a Writer for columns with the given names and types, as package typed names them. A decimal without a precision is stored as a DOUBLE,
// because Parquet has no decimals of any number of digits.
func NewWriter(names, types []string) (w *Writer, err error) {
	defer recoverTo(&err)
	w = &Writer{names: names, row: make(library.Row, len(names))}
	group := library.Group{}
	options := []library.WriterOption{library.Compression(&library.Zstd)}
	for i, name := range names {
		if _, again := group[name]; again {
			return nil, fmt.Errorf("there are several columns %q: want different names", name)
		}
		t, err := typed.Parse(types[i])
		if err != nil {
			return nil, err
		}
		w.types, group[name] = append(w.types, t), library.Optional(node(t))
		if isWide(t) { // the library compares the bytes as if they had no sign
			options = append(options, library.SkipPageBounds(name))
		}
	}
	positions, fields := make(map[string]int, len(names)), group.Fields()
	for i, name := range names {
		positions[name] = i
	}
	slices.SortFunc(fields, func(a, b library.Field) int { return positions[a.Name()] - positions[b.Name()] })
	w.w = library.NewGenericWriter[any](&w.out, append(options, library.NewSchema("rows", &ordered{group, fields}))...)
	return w, nil
}

// These are the numbers of digits of decimals that integers of 32 and 64 bits store, and the size of other decimals in bytes.
const (
	digits32 = 9
	digits64 = 18
	wideSize = 16
)

// isWide reports whether values of a type are stored as bytes.
func isWide(t typed.Type) bool { return t.Kind == typed.Decimal && t.Precision > digits64 }

// node returns the type of a column in the schema.
func node(t typed.Type) library.Node {
	switch t.Kind {
	case typed.Integer:
		return library.Int(64)
	case typed.Float:
		return library.Leaf(library.DoubleType)
	case typed.Boolean:
		return library.Leaf(library.BooleanType)
	case typed.Date:
		return library.Date()
	case typed.Timestamp:
		if t.Nanoseconds {
			return library.Timestamp(library.Nanosecond)
		}
		return library.Timestamp(library.Microsecond)
	case typed.Decimal:
		switch {
		case t.Precision == 0:
			return library.Leaf(library.DoubleType)
		case t.Precision <= digits32:
			return library.Decimal(t.Scale, t.Precision, library.Int32Type)
		case t.Precision <= digits64:
			return library.Decimal(t.Scale, t.Precision, library.Int64Type)
		}
		return library.Decimal(t.Scale, t.Precision, library.FixedLenByteArrayType(wideSize))
	}
	return library.String()
}

// Add adds a row. An empty field is null.
func (w *Writer) Add(fields [][]byte) (err error) {
	defer recoverTo(&err)
	for i, field := range fields {
		if len(field) == 0 {
			w.row[i] = library.NullValue().Level(0, 0, i)
			continue
		}
		v, err := value(w.types[i], field)
		if err != nil {
			return typed.OfColumn(w.names[i], err)
		}
		w.row[i] = v.Level(0, 1, i)
	}
	_, err = w.w.WriteRows([]library.Row{w.row})
	return err
}

// value returns a field as a value of a type.
func value(t typed.Type, field []byte) (library.Value, error) {
	switch t.Kind {
	case typed.Integer:
		n, err := t.Integer(field)
		return library.Int64Value(n), err
	case typed.Float:
		f, err := t.Float(field)
		return library.DoubleValue(f), err
	case typed.Boolean:
		is, err := t.Boolean(field)
		return library.BooleanValue(is), err
	case typed.Date:
		at, err := t.Time(field)
		return library.Int32Value(int32(at.Unix() / int64(24*time.Hour/time.Second))), err
	case typed.Timestamp:
		at, err := t.Time(field)
		if t.Nanoseconds {
			return library.Int64Value(at.UnixNano()), err
		}
		return library.Int64Value(at.UnixMicro()), err
	case typed.Decimal:
		if t.Precision == 0 {
			f, err := t.Float(field)
			return library.DoubleValue(f), err
		}
		return decimalValue(t, field)
	}
	return library.ByteArrayValue(field), nil
}

func decimalValue(t typed.Type, field []byte) (library.Value, error) {
	n, err := t.Unscaled(field)
	switch {
	case err != nil:
		return library.Value{}, err
	case t.Precision <= digits32:
		return library.Int32Value(int32(n.Int64())), nil
	case t.Precision <= digits64:
		return library.Int64Value(n.Int64()), nil
	}
	if n.Sign() < 0 { // two's complement
		n = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), 8*wideSize))
	}
	return library.FixedLenByteArrayValue(n.FillBytes(make([]byte, wideSize))), nil
}

// Finish returns the object.
func (w *Writer) Finish() (content []byte, err error) {
	defer recoverTo(&err)
	if err := w.w.Close(); err != nil {
		return nil, err
	}
	return w.out.Bytes(), nil
}

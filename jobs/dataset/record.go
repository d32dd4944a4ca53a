package dataset

import (
	"fmt"
	"strconv"
	"unsafe"

	"github.com/bellwether-compute/bellwether/jobs/dataset/avro"
	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
	"github.com/bellwether-compute/bellwether/jobs/dataset/parquet"
)

// Record is one record of an object. The slices that the methods return are parts of a reused
// buffer. The returned slices are valid until Fold returns, and must not be changed.
type Record struct {
	layout *layout
	want   []int // indices of the wanted columns

	object string
	offset int64

	text   []byte  // text of the record without its line end
	data   []byte  // text that contains the fields
	fields []bound // bounds of the field of each column; for ndjson only of the wanted columns
	wanted []int   // for csv and tsv, the first wanted column from each column on
	buffer []byte  // memory for fields that are not parts of the record's text
	seen   []bool  // for ndjson, whether the record has the member of each field
	raw    []bool  // for ndjson, whether the value of each field is no string

	numbers  [][]byte // memory for the fields of wanted columns that are numbers in the notation of a dialect
	noNumber []bool   // whether the fields of wanted columns are no such numbers; nil if the dialect has the usual notation

	place place // columns of the path of the object

	rows typedRows // rows of a Parquet or Avro object; if not nil, text, data and fields are not used
}

// typedRows are the rows of a part of an object whose values are typed. Column i is the wanted column i.
type typedRows interface {
	// Field returns the value of the current row as text, or nil if it is missing. The text may be appended to the buffer,
	// which Field also returns.
	Field(i int, buffer []byte) (field, _ []byte)
	Number(i int, n *exact.Number) bool
	IsFloat(i int) bool
	IsTime(i int) bool
}

var (
	_ typedRows = (*parquet.Rows)(nil)
	_ typedRows = (*avro.Rows)(nil)
)

// bound is the range of bytes [lo, hi) of a field in Record.data. If a field is missing, its lo is
// -1.
type bound struct{ lo, hi int }

// Text returns the record without its line end. A row of a Parquet or Avro object has no text.
func (r *Record) Text() []byte { return r.text }

// Object returns the name of the record's object.
func (r *Record) Object() string { return r.object }

// Offset returns the offset of the record in its object in bytes. For a compressed object, Offset
// returns the offset in the decompressed content. For an object of bgzip, Offset returns this offset in the first member, and
// for the other members 2^62 more than the virtual offset of htslib, which is the stored offset of the member times 65,536 and
// the offset in its content. For a Parquet object, Offset returns the offset of the row group, and for an Avro object that of the block.
func (r *Record) Offset() int64 { return r.offset }

// Field returns the field of column i. The index refers to the columns that the job's Columns
// returns, or to all columns if the job has no Columns, those of the path last. A quoted field is returned without its
// quotes. For the format lines, and for ndjson without Columns, field 0 is the whole record. For
// ndjson with Columns, a string is returned without quotes and escapes, and other values are
// returned as they are written in the object. If the value is null or the member is missing, Field
// returns nil. For csv and tsv, Field returns nil for a text in the parameter null, and a
// number in the notation of the parameters decimal and thousands with a point and without groups of digits. For Parquet and Avro, packages parquet and avro convert values to text. A column of the object's path has
// the same value for all records of the object.
func (r *Record) Field(i int) []byte {
	if r.layout.order != nil {
		if i = r.layout.order[i]; i < 0 {
			return r.place.value(r.object, -1-i)
		}
	}
	if r.rows != nil {
		var field []byte
		field, r.buffer = r.rows.Field(i, r.buffer)
		return field
	}
	b := r.fields[r.want[i]]
	if b.lo < 0 {
		return nil
	}
	if r.layout.rewrites {
		return r.rewrite(i, r.data[b.lo:b.hi])
	}
	return r.data[b.lo:b.hi]
}

// Float returns the field of column i as the float64 that is nearest to the number.
func (r *Record) Float(i int) (float64, error) {
	field := r.Field(i)
	if at, _ := r.inRows(i); r.isOther(at) {
		return 0, r.badField(i, r.NumberForm())
	}
	if f, ok := shortDecimal(field); ok {
		return f, nil
	}
	f, err := strconv.ParseFloat(view(field), 64)
	if err != nil {
		return 0, r.badField(i, r.NumberForm())
	}
	return f, nil
}

// Number sets n to the field of column i as an exact decimal. It returns false if the field is not
// a number, and n is then undefined.
func (r *Record) Number(i int, n *exact.Number) bool {
	at, ok := r.inRows(i)
	if ok {
		return r.rows.Number(at, n)
	}
	field := r.Field(i)
	return !r.isOther(at) && n.Parse(field)
}

// IsFloat reports whether the field of column i is a float of a Parquet or Avro object.
// Such a value may be infinite or NaN, and is then not a number in the sense of Number.
func (r *Record) IsFloat(i int) bool {
	at, ok := r.inRows(i)
	return ok && r.rows.IsFloat(at)
}

// IsTime reports whether column i of a Parquet or Avro object has a type of dates or times. Their texts are not
// ordered like the times.
func (r *Record) IsTime(i int) bool {
	at, ok := r.inRows(i)
	return ok && r.rows.IsTime(at)
}

// inRows returns the index of column i in the rows of a Parquet or Avro object, or false if the column is not in such rows.
func (r *Record) inRows(i int) (at int, ok bool) {
	if r.layout.order != nil {
		i = r.layout.order[i]
	}
	return i, r.rows != nil && i >= 0
}

// Int returns the field of column i as an integer.
func (r *Record) Int(i int) (int64, error) {
	n, err := strconv.ParseInt(view(r.Field(i)), 10, 64)
	if at, _ := r.inRows(i); err != nil || r.isOther(at) {
		return 0, r.badField(i, "an integer of 64 bits")
	}
	return n, nil
}

func (r *Record) badField(i int, want string) error {
	return fmt.Errorf("column %q is %s: want %s", r.name(i), quoted(r.Field(i)), want)
}

// name returns the name of column i.
func (r *Record) name(i int) string {
	if order := r.layout.order; order != nil {
		if i = order[i]; i < 0 {
			return r.layout.path[-1-i]
		}
	}
	return r.layout.column(r.want[i])
}

// view returns a string that shares the memory of the given bytes.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// powers contains the powers of ten that a float64 represents exactly.
var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// shortDecimal parses a decimal number of up to 15 digits. A float64 represents the number's digits
// and its power of ten exactly, so only the division rounds.
func shortDecimal(b []byte) (float64, bool) {
	i, negative := 0, false
	if len(b) > 0 && b[0] == '-' {
		i, negative = 1, true
	}
	if i == len(b) || len(b)-i > 16 {
		return 0, false
	}
	digits, point := uint64(0), -1
	first := i
	for ; i < len(b); i++ {
		c := b[i] - '0'
		if c <= 9 {
			digits = digits*10 + uint64(c)
			continue
		}
		if b[i] != '.' || point >= 0 {
			return 0, false
		}
		point = i
	}
	count, scale := len(b)-first, 0
	if point >= 0 {
		count--
		scale = len(b) - 1 - point
	}
	if count == 0 || count > 15 {
		return 0, false
	}
	f := float64(digits) / powers[scale]
	if negative {
		f = -f
	}
	return f, true
}

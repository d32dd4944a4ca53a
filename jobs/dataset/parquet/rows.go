package parquet

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	library "github.com/parquet-go/parquet-go"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// batch is the number of rows whose values are decoded together.
const batch = 1024

// Rows iterates over the rows of a row group. Only one goroutine may use a Rows.
type Rows struct {
	columns []column
	left    int64 // number of rows after the current batch
	count   int   // number of rows in the current batch
	at      int   // current row in the batch
}

type column struct {
	leaf   leaf
	pages  *library.FilePages
	left   int                 // number of values in the page after the batch
	reader library.ValueReader // reader of a page without a dictionary
	values [batch]library.Value

	// The fields dictionary and codes are for pages with a dictionary. Codes are indices in the
	// dictionary, or -1 for null.
	dictionary *Dictionary // nil if the page has no dictionary
	codes      []int32     // codes of the batch and of the rest of the page
}

// Rows returns the rows of a row group with the values of some columns. Next must be called before
// the first row. The reader r must contain at least the bytes that Chunks returns.
func (f *File) Rows(group int, columns []int, r io.ReaderAt) (rows *Rows, err error) {
	defer recoverTo(&err)
	g := f.file.RowGroups()[group]
	rows = &Rows{columns: make([]column, len(columns)), left: g.NumRows()}
	for i, c := range columns {
		l := f.leaves[c]
		chunk, ok := g.ColumnChunks()[l.index].(*library.FileColumnChunk)
		if !ok {
			return nil, fmt.Errorf("column %q has no data", l.name)
		}
		if err := f.prepare(group, l); err != nil {
			return nil, err
		}
		rows.columns[i].leaf, rows.columns[i].pages = l, chunk.PagesFrom(r)
	}
	return rows, nil
}

// prepare sets the size of a column chunk to that of the bytes that Chunks returns. It returns an error if no
// codec is known for the chunk.
func (f *File) prepare(group int, l leaf) error {
	r, err := f.chunk(group, l.index)
	if err != nil {
		return err
	}
	m := &f.file.Metadata().RowGroups[group].Columns[l.index].MetaData
	m.TotalCompressedSize = r.To - r.From
	if m.Codec < 0 || int(m.Codec) >= len(codecs) || codecs[m.Codec] == nil {
		return &UnreadableError{fmt.Sprintf("column %q is compressed with %v, which cannot be read: write it with another compression, such as ZSTD", l.name, m.Codec)}
	}
	return nil
}

// Next moves to the next row. Next returns false after the last row.
func (r *Rows) Next() (bool, error) {
	if r.at++; r.at < r.count {
		return true, nil
	}
	if r.left == 0 {
		return false, nil
	}
	return true, r.fill()
}

// fill decodes the next batch. The batch ends at the end of a page of any column.
func (r *Rows) fill() (err error) {
	defer recoverTo(&err)
	count := int(min(batch, r.left))
	for i := range r.columns {
		c := &r.columns[i]
		if err := c.advance(r.count); err != nil {
			return fmt.Errorf("column %q: %w", c.leaf.name, err)
		}
		count = min(count, c.left)
	}
	for i := range r.columns {
		if err := r.columns[i].fill(count); err != nil {
			return fmt.Errorf("column %q: %w", r.columns[i].leaf.name, err)
		}
	}
	r.at, r.count = 0, count
	r.left -= int64(count)
	return nil
}

// advance drops a batch of count rows, and reads the next page if the page of the batch has ended.
func (c *column) advance(count int) error {
	if c.dictionary != nil {
		c.codes = c.codes[count:]
	}
	for c.left == 0 {
		page, err := c.pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: the row group has more rows than the column has values", io.ErrUnexpectedEOF)
		}
		if err != nil {
			return err
		}
		c.left, c.reader = int(page.NumValues()), nil
		if page.Dictionary() == nil {
			c.dictionary, c.reader = nil, page.Values()
			continue
		}
		if c.dictionary == nil || c.dictionary.of != page.Dictionary() {
			if c.dictionary, err = newDictionary(page.Dictionary(), &c.leaf); err != nil {
				return err
			}
		}
		if c.codes, err = c.leaf.codes(page, c.dictionary); err != nil {
			return err
		}
	}
	return nil
}

// fill decodes the values of the next count rows, which must be in the current page.
func (c *column) fill(count int) error {
	c.left -= count
	if c.reader == nil {
		return nil
	}
	for have := 0; have < count; {
		n, err := c.reader.ReadValues(c.values[have:count])
		have += n
		if have < count && (n == 0 || err != nil) {
			return fmt.Errorf("%w: a page has fewer values than its header says", io.ErrUnexpectedEOF)
		}
	}
	return c.leaf.check(c.values[:count])
}

// check returns an error if a text of the column is not UTF-8.
func (l *leaf) check(values []library.Value) error {
	if l.kind == text {
		for i := range values {
			if v := &values[i]; !v.IsNull() && !utf8.Valid(v.ByteArray()) {
				return &UnreadableError{fmt.Sprintf("%.80q is not UTF-8, and the type %s is read as text: leave the column out, for example with the parameter columns", v.ByteArray(), l.typ)}
			}
		}
	}
	return nil
}

// value returns the value of row at of the batch, or nil if the row has no value.
func (c *column) value(at int) *library.Value {
	if c.dictionary == nil {
		if v := &c.values[at]; !v.IsNull() {
			return v
		}
		return nil
	}
	if code := c.codes[at]; code >= 0 {
		return &c.dictionary.values[code]
	}
	return nil
}

// Field returns the value of a column as text, or nil if the row has no value. The text is a part
// of the page or of buffer, to which Field may append. Field also returns the buffer.
func (r *Rows) Field(i int, buffer []byte) (field, _ []byte) {
	c := &r.columns[i]
	v := c.value(r.at)
	if v == nil {
		return nil, buffer
	}
	if c.leaf.kind == text {
		return v.ByteArray(), buffer
	}
	begin := len(buffer)
	buffer = c.leaf.append(buffer, v)
	return buffer[begin:], buffer
}

// Number sets n to the value of a column, and returns false if the value is not a number.
func (r *Rows) Number(i int, n *exact.Number) bool { return r.NumberAfter(i, 0, n) }

// NumberAfter sets n to the value of a column like Number, but for a later row of the batch. The
// parameter rows is the distance from the current row.
func (r *Rows) NumberAfter(i, rows int, n *exact.Number) bool {
	c := &r.columns[i]
	if c.dictionary != nil {
		code := c.codes[r.at+rows]
		return code >= 0 && c.dictionary.number(code, n)
	}
	v := c.value(r.at + rows)
	return v != nil && c.leaf.number(v, n)
}

// IsFloat reports whether the values of column i are floats.
func (r *Rows) IsFloat(i int) bool {
	kind := r.columns[i].leaf.kind
	return kind == float16bits || kind == float32bits || kind == float64bits
}

// IsTime reports whether the values of column i are dates, timestamps or times of day.
func (r *Rows) IsTime(i int) bool {
	kind := r.columns[i].leaf.kind
	return kind == date || kind == timestamp || kind == julian || kind == timeOfDay
}

// Codes returns the codes of the rows from the current one to the end of the batch, and the
// dictionary of the codes. The code of a row without a value is -1. If the rows have no codes, the
// dictionary is nil.
func (r *Rows) Codes(i int) ([]int32, *Dictionary) {
	c := &r.columns[i]
	if c.dictionary == nil {
		return nil, nil
	}
	return c.codes[r.at:r.count], c.dictionary
}

// Skip moves forward by a number of rows within the batch.
func (r *Rows) Skip(rows int) { r.at += rows }

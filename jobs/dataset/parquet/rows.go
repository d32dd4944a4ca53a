package parquet

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	library "github.com/parquet-go/parquet-go"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// maxBatch is the maximum number of rows whose values are decoded together, and maxBatchValues the maximum
// number of their values in all columns.
const (
	maxBatch       = 1024
	maxBatchValues = 2 << 20
)

// Rows iterates over the rows of a row group. Only one goroutine may use the Rows of a File.
type Rows struct {
	columns []column
	batch   int   // number of rows that are decoded together
	left    int64 // number of rows after the current batch
	count   int   // number of rows in the current batch
	at      int   // current row in the batch
}

type column struct {
	leaf   leaf
	source pages
	pages  *library.FilePages
	left   int                 // number of values in the page after the batch
	reader library.ValueReader // reader of a page without a dictionary
	codes  []int32             // rest of the codes of a page with a dictionary; -1 for null
	known  *Dictionary         // dictionary of codes
	nested *nested             // reader of a list or map, which has no pages

	// The batch consists of values, or, if all its values are in one dictionary, of the dictionary and
	// indices in it.
	values     []library.Value
	dictionary *Dictionary // nil if the batch consists of values
	indices    []int32     // -1 for null
	decimals   []Decimal   // of the batch; empty until they are needed
}

// Rows returns the rows of a row group with the values of some columns. Next must be called before
// the first row. The parameter chunks has the bytes of each range that Chunks returns.
func (f *File) Rows(group int, columns []int, chunks [][]byte) (rows *Rows, err error) {
	defer recoverTo(&err)
	g := f.file.RowGroups()[group]
	rows = &Rows{columns: make([]column, len(columns)), left: g.NumRows()}
	rows.batch = max(1, min(maxBatch, maxBatchValues/max(1, len(columns))))
	stored := 0
	for _, chunk := range chunks {
		stored += len(chunk)
	}
	shared := newBudget(int64(stored))
	for i, c := range columns {
		one := &rows.columns[i]
		one.leaf = f.leaves[c]
		if one.leaf.node == nil {
			if err := one.open(f, group, chunks[0], shared); err != nil {
				return nil, err
			}
			chunks = chunks[1:]
			continue
		}
		rows.batch = min(rows.batch, nestedBatch)
		one.nested = &nested{node: one.leaf.node}
		for _, part := range one.leaf.parts {
			s := &stream{column: column{leaf: part}}
			if err := s.open(f, group, chunks[0], shared); err != nil {
				return nil, err
			}
			one.nested.streams, chunks = append(one.nested.streams, s), chunks[1:]
		}
	}
	return rows, nil
}

// open opens the column of a row group. The pages share a budget.
func (c *column) open(f *File, group int, data []byte, shared *budget) error {
	l := &c.leaf
	chunk, ok := f.file.RowGroups()[group].ColumnChunks()[l.index].(*library.FileColumnChunk)
	if !ok {
		return fmt.Errorf("column %q has no data", l.name)
	}
	m := &f.file.Metadata().RowGroups[group].Columns[l.index].MetaData
	if !known(m.Codec) {
		return &UnreadableError{fmt.Sprintf("column %q is compressed with %v, which cannot be read: write it with another compression, such as ZSTD", l.name, m.Codec)}
	}
	c.source = pages{column: m, leaf: l, data: data, budget: shared, memory: &f.memory}
	c.pages = c.source.open(chunk, m)
	return nil
}

// Next moves to the next row. Next returns false after the last row.
func (r *Rows) Next() (bool, error) {
	if r.at++; r.at < r.count {
		return true, nil
	}
	if r.left == 0 {
		r.close()
		return false, nil
	}
	return true, r.fill()
}

// close gives the memory of the last pages back to the library.
func (r *Rows) close() {
	for i := range r.columns {
		if c := &r.columns[i]; c.pages != nil {
			c.pages.Close()
			c.pages = nil
		}
	}
}

// fill decodes the next batch.
func (r *Rows) fill() (err error) {
	defer recoverTo(&err)
	count := int(min(int64(r.batch), r.left))
	for i := range r.columns {
		c := &r.columns[i]
		if err := c.fill(count, r.batch); err != nil {
			return fmt.Errorf("column %q: %w", c.leaf.name, err)
		}
	}
	r.at, r.count = 0, count
	r.left -= int64(count)
	return nil
}

// fill decodes the values of the next count rows, which may be in several pages.
func (c *column) fill(count, most int) error {
	c.dictionary, c.indices, c.decimals = nil, c.indices[:0], c.decimals[:0]
	if c.nested != nil {
		if c.values == nil {
			c.values = make([]library.Value, most)
		}
		return c.nested.fill(c.values[:count])
	}
	for have := 0; have < count; {
		if c.left == 0 {
			if err := c.advance(); err != nil {
				return err
			}
			continue
		}
		n := min(c.left, count-have)
		c.left -= n
		if c.reader == nil && (have == 0 || c.dictionary == c.known) {
			c.dictionary, c.indices, c.codes = c.known, append(c.indices, c.codes[:n]...), c.codes[n:]
			have += n
			continue
		}
		if c.values == nil {
			c.values = make([]library.Value, most)
		}
		c.expand()
		if err := c.read(c.values[have : have+n]); err != nil {
			return err
		}
		have += n
	}
	return nil
}

// expand replaces the indices of the batch by the values.
func (c *column) expand() {
	for i, code := range c.indices {
		c.values[i] = c.dictionary.value(code)
	}
	c.dictionary, c.indices = nil, c.indices[:0]
}

// read reads values of the current page.
func (c *column) read(values []library.Value) error {
	if c.reader == nil {
		for i := range values {
			values[i] = c.known.value(c.codes[i])
		}
		c.codes = c.codes[len(values):]
		return nil
	}
	for have := 0; have < len(values); {
		n, err := c.reader.ReadValues(values[have:])
		have += n
		if have < len(values) && (n == 0 || err != nil) {
			return errFewer
		}
	}
	return c.leaf.check(values)
}

// advance reads the next page.
func (c *column) advance() error {
	page, err := c.page()
	if errors.Is(err, io.EOF) {
		err = errRows
	}
	if err != nil {
		return err
	}
	c.left, c.reader = int(page.NumValues()), nil
	if page.Dictionary() == nil {
		c.reader = page.Values()
		return nil
	}
	library.Release(page) // the library keeps the memory of the codes until it reads the next page
	if c.known == nil || c.known.of != page.Dictionary() {
		if c.known, err = newDictionary(page.Dictionary(), &c.leaf); err != nil {
			return err
		}
	}
	c.codes, err = c.leaf.codes(page, c.known)
	if err == nil && len(c.codes) < c.left {
		err = errCodes
	}
	return err
}

var errRows = fmt.Errorf("%w: the row group has more rows than the column has values", io.ErrUnexpectedEOF)

// page returns the next page, or io.EOF.
func (c *column) page() (library.Page, error) {
	page, err := c.pages.ReadPage()
	if c.source.err != nil && !errors.Is(c.source.err, io.EOF) {
		return nil, c.source.err
	}
	return page, err
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
	if code := c.indices[at]; code >= 0 {
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
func (r *Rows) Number(i int, n *exact.Number) bool {
	c := &r.columns[i]
	if c.dictionary != nil {
		code := c.indices[r.at]
		return code >= 0 && c.dictionary.number(code, n)
	}
	v := c.value(r.at)
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
	return c.indices[r.at:r.count], c.dictionary
}

// Skip moves forward by a number of rows within the batch.
func (r *Rows) Skip(rows int) { r.at += rows }

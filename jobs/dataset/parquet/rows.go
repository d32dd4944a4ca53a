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

// Rows are the rows of a row group. Only one goroutine may use it.
type Rows struct {
	columns []column
	left    int64 // rows after the batch
	count   int   // rows in the batch
	at      int   // current row in the batch
}

type column struct {
	leaf   leaf
	pages  *library.FilePages
	page   library.ValueReader // nil: the next page must be read
	values [batch]library.Value
}

// Rows returns the rows of a row group with the values of some columns. Next must be called before
// the first row. The rows read from r, which contains at least the bytes of Chunks.
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
		rows.columns[i].leaf, rows.columns[i].pages = l, chunk.PagesFrom(r)
	}
	return rows, nil
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

// fill decodes the next batch.
func (r *Rows) fill() (err error) {
	defer recoverTo(&err)
	r.at, r.count = 0, int(min(batch, r.left))
	r.left -= int64(r.count)
	for i := range r.columns {
		if err := r.columns[i].fill(r.count); err != nil {
			return fmt.Errorf("column %q: %w", r.columns[i].leaf.name, err)
		}
	}
	return nil
}

func (c *column) fill(count int) error {
	for have := 0; have < count; {
		if c.page == nil {
			page, err := c.pages.ReadPage()
			if errors.Is(err, io.EOF) {
				return fmt.Errorf("%w: the row group has more rows than the column has values", io.ErrUnexpectedEOF)
			}
			if err != nil {
				return err
			}
			c.page = page.Values()
		}
		n, err := c.page.ReadValues(c.values[have:count])
		have += n
		if errors.Is(err, io.EOF) || n == 0 && err == nil {
			c.page = nil
		} else if err != nil {
			return err
		}
	}
	if c.leaf.kind == text {
		for i := range c.values[:count] {
			if v := &c.values[i]; !v.IsNull() && !utf8.Valid(v.ByteArray()) {
				return fmt.Errorf("%.80q is not UTF-8", v.ByteArray())
			}
		}
	}
	return nil
}

// Field returns the value of a column as text, or nil if the row has no value. The text is a part of the
// page or of buffer, to which Field may append. Field returns the buffer.
func (r *Rows) Field(i int, buffer []byte) (field, _ []byte) {
	c := &r.columns[i]
	v := &c.values[r.at]
	if v.IsNull() {
		return nil, buffer
	}
	if c.leaf.kind == text {
		return v.ByteArray(), buffer
	}
	begin := len(buffer)
	buffer = c.leaf.append(buffer, v)
	return buffer[begin:], buffer
}

// Number sets n to the value of a column, or returns false if the value is not a number.
func (r *Rows) Number(i int, n *exact.Number) bool {
	c := &r.columns[i]
	v := &c.values[r.at]
	return !v.IsNull() && c.leaf.number(v, n)
}

package scan

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// maxRows is the maximum number of rows in a result.
const maxRows = 100_000

// rows contains the rows of a query without aggregates. If the query has a limit, only the first
// rows of the result are kept.
type rows struct {
	limit    int // maximum number of rows in the result; 0 means no limit
	order    []rowOrder
	list     []row
	overflow bool // true if the query has more than maxRows rows
}

type rowOrder struct {
	Column     int
	Descending bool
}

// row contains the encoded fields of a row. The length of each field precedes the field.
type row []byte

// fields returns the fields of a row.
func (r row) fields() (list [][]byte) {
	for rest := []byte(r); len(rest) > 0; {
		n, size := binary.Uvarint(rest)
		list = append(list, rest[size:size+int(n)])
		rest = rest[size+int(n):]
	}
	return list
}

// full reports whether rows that follow in the input cannot be in the result.
func (r *rows) full() bool {
	return r.overflow || len(r.order) == 0 && r.limit > 0 && len(r.list) >= r.limit
}

func (r *rows) add(one row) {
	if r.full() {
		return
	}
	if r.list = append(r.list, one); len(r.list) >= 2*r.most()+2 {
		r.trim()
	}
}

// most returns the maximum number of rows to keep.
func (r *rows) most() int {
	if r.limit > 0 && r.limit < maxRows {
		return r.limit
	}
	return maxRows
}

// trim sorts the rows and drops the rows that cannot be in the result. Rows that are equal in the
// sort order stay in the order of the input.
func (r *rows) trim() {
	if len(r.order) > 0 {
		slices.SortStableFunc(r.list, r.compare)
	}
	if len(r.list) > r.most() {
		r.overflow = r.overflow || r.limit == 0 || r.limit > maxRows
		r.list = slices.Delete(r.list, r.most(), len(r.list))
	}
}

func (r *rows) compare(a, b row) int {
	x, y := a.fields(), b.fields()
	for _, o := range r.order {
		if c := compareFields(x[o.Column], y[o.Column]); c != 0 {
			if o.Descending {
				return -c
			}
			return c
		}
	}
	return 0
}

func (r *rows) merge(right rows) {
	if r.limit == 0 && len(r.order) == 0 {
		r.limit, r.order = right.limit, right.order
	}
	r.list = append(r.list, right.list...)
	r.overflow = r.overflow || right.overflow
	r.trim()
}

func (r *rows) append(b []byte) []byte {
	r.trim()
	b = binary.AppendUvarint(b, uint64(r.limit))
	b = binary.AppendUvarint(b, uint64(len(r.order)))
	for _, o := range r.order {
		b = binary.AppendUvarint(b, uint64(o.Column)<<1|uint64(bit(o.Descending)))
	}
	return appendRows(append(b, bit(r.overflow)), r.list)
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// read decodes rows with a number of columns.
func (r *rows) read(b []byte, columns int) (rest []byte, err error) {
	number := func() uint64 {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			b = nil
			return 0
		}
		b = b[size:]
		return n
	}
	*r = rows{limit: int(number())}
	for range min(number(), uint64(len(b))) {
		n := number()
		if n>>1 >= uint64(columns) {
			return nil, errStates
		}
		r.order = append(r.order, rowOrder{int(n >> 1), n&1 == 1})
	}
	if len(b) == 0 {
		return nil, errStates
	}
	r.overflow = b[0] == 1
	r.list, rest, err = readRows(b[1:], columns)
	return rest, err
}

func (r *rows) err() error {
	if r.overflow {
		return fmt.Errorf("the result has more than %d rows: give the parameter limit, where or aggregate", maxRows)
	}
	return nil
}

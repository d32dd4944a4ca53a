package scan

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
)

const (
	// maxRows is the maximum number of rows in a result without aggregates, and maxRowBytes the maximum
	// number of bytes of the rows.
	maxRows     = 100_000
	maxRowBytes = 256 << 20
)

// rows contains the rows of a query without aggregates. If the query has a limit, only the first
// rows of the result are kept.
type rows struct {
	limit    int // maximum number of rows in the result; 0 means no limit
	order    []rowOrder
	json     bool // true if the fields may be JSON values
	list     []row
	bytes    int      // size of list
	overflow overflow // the limit that the rows exceed
}

// overflow says which limit rows exceed.
type overflow uint8

const (
	noOverflow overflow = iota
	manyRows
	manyBytes
)

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

// field returns one field of a row.
func (r row) field(at int) []byte {
	for rest := []byte(r); ; at-- {
		n, size := binary.Uvarint(rest)
		if at == 0 {
			return rest[size : size+int(n)]
		}
		rest = rest[size+int(n):]
	}
}

// full reports whether rows that follow in the input cannot be in the result.
func (r *rows) full() bool {
	return r.overflow > 0 || len(r.order) == 0 && r.limit > 0 && len(r.list) >= r.limit
}

func (r *rows) add(one row) {
	if r.full() {
		return
	}
	r.list, r.bytes = append(r.list, one), r.bytes+len(one)
	if len(r.list) >= 2*r.most()+2 || r.bytes > 2*maxRowBytes {
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
	r.sort()
	if len(r.list) > r.most() {
		if r.limit == 0 || r.limit > maxRows {
			r.overflow = max(r.overflow, manyRows)
		}
		r.list = slices.Delete(r.list, r.most(), len(r.list))
	}
	r.bytes = 0
	for _, one := range r.list {
		r.bytes += len(one)
	}
	if r.bytes > maxRowBytes {
		r.overflow, r.list, r.bytes = manyBytes, nil, 0
	}
}

// sort sorts the rows. It decodes the fields of each row once.
func (r *rows) sort() {
	if len(r.order) == 0 {
		return
	}
	type sortable struct {
		row  row
		keys [][]byte // fields of the columns in order
	}
	list := make([]sortable, len(r.list))
	for i, one := range r.list {
		fields := one.fields()
		keys := make([][]byte, len(r.order))
		for k, o := range r.order {
			if keys[k] = fields[o.Column]; r.json {
				keys[k] = withoutQuotes(keys[k])
			}
		}
		list[i] = sortable{one, keys}
	}
	slices.SortStableFunc(list, func(a, b sortable) int {
		for k, o := range r.order {
			if c := compareFields(a.keys[k], b.keys[k]); c != 0 {
				if o.Descending {
					return -c
				}
				return c
			}
		}
		return 0
	})
	for i, one := range list {
		r.list[i] = one.row
	}
}

// withoutQuotes returns the text of a field that may be a JSON string.
func withoutQuotes(field []byte) []byte {
	var text string
	if len(field) > 0 && field[0] == '"' && json.Unmarshal(field, &text) == nil {
		return []byte(text)
	}
	return field
}

func (r *rows) merge(right rows) {
	if r.limit == 0 && len(r.order) == 0 {
		r.limit, r.order, r.json = right.limit, right.order, right.json
	}
	r.list = append(r.list, right.list...)
	r.overflow = max(r.overflow, right.overflow)
	r.trim()
}

func (r *rows) append(b []byte) []byte {
	r.trim()
	b = binary.AppendUvarint(b, uint64(r.limit))
	b = binary.AppendUvarint(b, uint64(len(r.order)))
	for _, o := range r.order {
		b = binary.AppendUvarint(b, uint64(o.Column)<<1|uint64(bit(o.Descending)))
	}
	return appendRows(append(b, byte(r.overflow)<<1|bit(r.json)), r.list)
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
	if len(b) == 0 || b[0]>>1 > byte(manyBytes) {
		return nil, errStates
	}
	r.overflow, r.json = overflow(b[0]>>1), b[0]&1 == 1
	r.list, rest, err = readRows(b[1:], columns)
	return rest, err
}

func (r *rows) err() error {
	switch r.overflow {
	case manyRows:
		return fmt.Errorf("the result has more than %d rows: give the parameter limit, where or aggregate", maxRows)
	case manyBytes:
		return fmt.Errorf("the rows of the result have more than %d bytes: give the parameter limit, where, columns or aggregate, or output to write the rows to objects", maxRowBytes)
	}
	return nil
}

package scan

import (
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/dataset/parquet"
)

// codeKernel is a kernel for rows of Parquet. It looks up each value of a dictionary in the table
// only once.
type codeKernel struct {
	simple
	key, value int // indices of the columns of the keys and of the aggregates
}

// newCodeKernel returns a codeKernel for a query, or nil if a codeKernel cannot fold rows for the
// query.
func newCodeKernel(p Params) *codeKernel {
	s, ok := simpleQuery(p)
	if !ok {
		return nil
	}
	q, _ := newQuery(p)
	names := q.inputColumns()
	return &codeKernel{simple: s, key: slices.Index(names, s.by), value: slices.Index(names, s.of)}
}

// codeGroups contains the group of each value of a dictionary plus 1, or 0 if the group is not yet
// known.
type codeGroups struct {
	of     *parquet.Dictionary
	groups []uint32
}

// fold folds rows of the batch from the current row on, and returns the number of folded rows. It
// stops before the first unusual row, and before a new group if the table is full.
func (k *codeKernel) fold(t *table, rows *parquet.Rows) int {
	codes, keys := rows.Codes(k.key)
	if keys == nil {
		return 0
	}
	k.bind(t)
	if t.codes.of != keys {
		t.codes = codeGroups{keys, make([]uint32, keys.Len())}
	}
	groups := t.codes.groups
	of, numbers := rows.Decimals(k.value)
	for i, code := range codes[:len(of)] {
		if code < 0 || of[i] < 0 {
			return i
		}
		m, scale := numbers[of[i]].Mantissa(), numbers[of[i]].Scale()
		if scale < 0 {
			return i
		}
		if groups[code] == 0 {
			if t.full() {
				return i
			}
			groups[code] = uint32(t.group(keys.Text(code)) + 1)
		}
		p := &t.plains[groups[code]-1]
		if p.fits(m, scale) {
			p.put(m, scale)
		} else if !p.addSlowly(m, scale) {
			return i
		}
	}
	return len(codes)
}

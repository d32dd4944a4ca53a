package scan

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

const (
	// maxResultGroups is the maximum number of groups in a result without output, and maxResultBytes the
	// maximum number of bytes of its values, of which each counts bytesOfCell more.
	maxResultGroups = 1_000_000
	maxResultBytes  = 512 << 20
	bytesOfCell     = 24

	minPart = 1 << 20 // minimum size in bytes of the parts of a run
)

// groups computes the rows of the result from the groups of a table.
type groups struct {
	query
	run     run
	scratch *scratch
	keeps   func(line []cell) (bool, error) // selects rows of the result; nil selects all
	order   []placed                        // groups in the order of the result
	most    int                             // maxResultBytes, except in tests
	parts   int                             // number of parts of the run that are read at the same time
}

// placed is the position of a group in the run and in the order of the result.
type placed struct {
	prefix uint64 // first bits of the value by which groups are sorted
	rank   int    // place of the group before it is sorted by this value
	at     int    // offset of the group in the run
}

// newGroups sorts the groups of a table. newGroups also returns what the groups show of the columns of the result.
func (q query) newGroups(ctx context.Context, t *table) (g *groups, n notes, err error) {
	if err := t.settle(); err != nil {
		return nil, nil, err
	}
	if len(q.by) == 0 && len(t.runs) == 0 {
		t.bind(q.aggregates, make([]int, len(q.aggregates)))
		t.group(nil) // without records, the result is one row with the aggregates of an empty group
		if err := t.settle(); err != nil {
			return nil, nil, err
		}
	}
	g = &groups{query: q, scratch: newScratch(q.aggregates), most: maxResultBytes}
	if len(t.runs) > 0 {
		g.run = t.runs[0]
	}
	g.parts = min(runtime.GOMAXPROCS(0), 1+len(g.run)/minPart)
	n, err = g.place(ctx)
	return g, n, err
}

// place sets the order of the groups of the result, and returns their notes.
func (g *groups) place(ctx context.Context) (notes, error) {
	orders := g.orders()
	n, err := g.collect(ctx, orders)
	if err != nil {
		return nil, err
	}
	if err := g.sort(ctx, orders); err != nil {
		return nil, err
	}
	g.order = g.order[min(g.offset, uint64(len(g.order))):]
	if g.limit > 0 && g.limit < uint64(len(g.order)) {
		g.order = g.order[:g.limit]
	}
	return n, nil
}

// orders returns the columns by which the groups are sorted: those of the parameter order, and then those of the
// parameter by. Groups in the order of runs are not sorted.
func (q query) orders() (orders []rowOrder) {
	if q.unsorted {
		return nil
	}
	columns := q.resultColumns()
	for _, o := range q.order {
		at := slices.IndexFunc(columns, func(c Column) bool { return c.Name == o.name })
		orders = append(orders, rowOrder{at, o.descending})
	}
	for i := range q.by {
		orders = append(orders, rowOrder{i, false})
	}
	return orders
}

// selects reports whether the group at an offset of the run is in the result.
func (g *groups) selects(at int) (bool, error) {
	if g.keeps == nil {
		return true, nil
	}
	line, err := g.line(at)
	if err != nil {
		return false, err
	}
	return g.keeps(line)
}

// field returns a field of a group's key.
func (g *groups) field(key []byte, column int) []byte {
	if len(g.by) == 1 {
		return key
	}
	return row(key).field(column)
}

// value returns the value of a group's aggregate by which the group is sorted. If there is an error instead, the value is
// null: line returns the error if the group is in the result.
func (g *groups) value(states []byte, aggregate int) (_ cell, err error) {
	for _, one := range g.scratch.states[:aggregate+1] {
		one.reset()
		if states, err = one.read(states); err != nil {
			return null, err
		}
	}
	c, err := g.scratch.states[aggregate].result(0, g.aggregates[aggregate])
	if err != nil {
		return null, nil
	}
	return c, nil
}

// prefix returns the prefix of a group's value in a column.
func (g *groups) prefix(c *cursor, column int) (uint64, error) {
	if column < len(g.by) {
		return fieldPrefix(g.field(c.key, column)), nil
	}
	value, err := g.value(c.states, column-len(g.by))
	return value.prefix(), err
}

// compare compares the values of the groups at two offsets of the run.
func (g *groups) compare(a, b, column int) (int, error) {
	x, xErr := g.group(a)
	y, yErr := g.group(b)
	if err := cmp.Or(xErr, yErr); err != nil {
		return 0, err
	}
	return g.compareGroups(&x, &y, column)
}

// compareGroups compares the values of the groups of two cursors.
func (g *groups) compareGroups(x, y *cursor, column int) (int, error) {
	if column < len(g.by) {
		return compareFields(g.field(x.key, column), g.field(y.key, column)), nil
	}
	left, xErr := g.value(x.states, column-len(g.by))
	right, yErr := g.value(y.states, column-len(g.by))
	return compareCells(left, right), cmp.Or(xErr, yErr)
}

// group returns the group at an offset of the run.
func (g *groups) group(at int) (cursor, error) {
	c := cursor{rest: g.run[at:]}
	return c, c.next()
}

// sort sorts the groups by columns. It begins with the last column. Groups whose values of a column are equal
// stay in their order. If the context ends, sort compares no more values.
func (g *groups) sort(ctx context.Context, orders []rowOrder) (err error) {
	for _, o := range slices.Backward(orders) {
		if err := g.setPrefixes(ctx, o.Column); err != nil {
			return err
		}
		slices.SortFunc(g.order, func(a, b placed) int {
			if ctx.Err() != nil {
				return 0
			}
			order := comparePrefixes(a.prefix, b.prefix)
			if order == 0 && a.prefix&b.prefix&prefixExact == 0 {
				var wrong error
				order, wrong = g.compare(a.at, b.at, o.Column)
				err = cmp.Or(err, wrong)
			}
			if o.Descending {
				order = -order
			}
			return cmp.Or(order, cmp.Compare(a.rank, b.rank))
		})
	}
	return cmp.Or(err, ctx.Err())
}

// setPrefixes sets the prefix and the rank of each group for sorting by a column.
func (g *groups) setPrefixes(ctx context.Context, column int) error {
	for i := range g.order {
		c, err := g.group(g.order[i].at)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		p, err := g.prefix(&c, column)
		if err != nil {
			return err
		}
		g.order[i].rank, g.order[i].prefix = i, p
	}
	return nil
}

// lines yields the rows of the result.
func (g *groups) lines() iter.Seq2[[]cell, error] {
	return func(yield func([]cell, error) bool) {
		for _, p := range g.order {
			if !yield(g.line(p.at)) {
				return
			}
		}
	}
}

// line returns the row of the group at an offset of the run.
func (g *groups) line(at int) ([]cell, error) {
	c, err := g.group(at)
	if err != nil {
		return nil, err
	}
	return g.lineOf(c.key, c.states)
}

// lineOf returns the row of a group.
func (g *groups) lineOf(key, states []byte) ([]cell, error) {
	line := make([]cell, 0, len(g.by)+len(g.aggregates))
	if len(g.by) == 1 {
		line = append(line, text(string(key)))
	} else {
		for _, field := range row(key).fields() {
			line = append(line, text(string(field)))
		}
	}
	g.scratch.reset()
	if err := g.scratch.read(states); err != nil {
		return nil, err
	}
	for i, a := range g.aggregates {
		one, err := g.scratch.states[i].result(0, a)
		if err != nil {
			return nil, jobs.Permanent(err)
		}
		line = append(line, one)
	}
	return line, nil
}

// finish returns the rows of the result.
func (g *groups) finish(ctx context.Context) ([][]cell, error) {
	if len(g.order) > maxResultGroups {
		return nil, jobs.Permanent(errManyGroups)
	}
	rows := make([][]cell, 0, len(g.order))
	left := g.most
	for line, err := range g.lines() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		for _, c := range line {
			left -= len(c.text) + bytesOfCell
		}
		if left < 0 {
			return nil, jobs.Permanent(fmt.Errorf("the values of the result have more than %d bytes, of which each counts %d more: give the parameter limit, or output to write the rows to objects", g.most, bytesOfCell))
		}
		rows = append(rows, line)
	}
	return rows, nil
}

// A prefix has 2 bits for the kind of the value, then 57 bits of the value, 4 bits for the length
// of a text, and prefixExact.
const (
	prefixExact = 1 // if it is set in two prefixes that are equal, the values are equal
	prefixText  = 7 // number of bytes of a text that a prefix contains
)

// prefix returns an integer that, without the bit prefixExact, is not larger for a cell that sorts before another cell.
func (c cell) prefix() uint64 {
	switch c.kind {
	case isNull:
		return prefixExact
	case isString:
		return textPrefix(c.text)
	case isFloat:
		return numberPrefix(c.float, true)
	}
	n := &c.number
	return numberPrefix(n.Float(), n.Big == nil && n.Scale == 0 && n.Mantissa>>40 == n.Mantissa>>63)
}

// comparePrefixes compares the parts of two prefixes that depend on the values. If one of the values is exact, it may still
// be equal to the other one.
func comparePrefixes(a, b uint64) int { return cmp.Compare(a&^prefixExact, b&^prefixExact) }

// fieldPrefix returns the prefix of a field of records. Fields that are numbers are sorted as numbers.
func fieldPrefix(field []byte) uint64 {
	if len(field) == 0 {
		return prefixExact
	}
	if n, ok := exact.Parse(field); ok {
		return numberPrefix(n.Float(), false)
	}
	return textPrefix(field)
}

func textPrefix[T string | []byte](text T) uint64 {
	var word [8]byte
	copy(word[1:], text)
	p := 2<<62 | binary.BigEndian.Uint64(word[:])<<6
	if len(text) <= prefixText {
		return p | uint64(len(text))<<1 | prefixExact
	}
	return p | 15<<1
}

// numberPrefix returns the prefix of a number. The parameter exactly is true if only equal numbers have the same float.
func numberPrefix(f float64, exactly bool) uint64 {
	bits := math.Float64bits(f + 0) // -0 becomes 0
	if bits>>63 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	p := 1<<62 | bits>>7<<5
	if exactly && bits<<57 == 0 {
		p |= prefixExact
	}
	return p
}

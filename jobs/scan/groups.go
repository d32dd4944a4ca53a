package scan

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
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
)

// groups computes the rows of the result from the groups of a table.
type groups struct {
	query
	run     run
	scratch *scratch
	keeps   func(line []cell) (bool, error) // selects rows of the result; nil selects all
	order   []placed                        // groups in the order of the result
	most    int                             // maxResultBytes, except in tests
}

// placed is the position of a group in the run and in the order of the result.
type placed struct {
	prefix uint64 // first bits of the value by which groups are sorted
	rank   int    // place of the group before it is sorted by this value
	at     int    // offset of the group in the run
}

// newGroups sorts the groups of a table. newGroups also returns the columns of the result.
func (q query) newGroups(ctx context.Context, t *table) (g *groups, columns []Column, err error) {
	if err := t.settle(); err != nil {
		return nil, nil, err
	}
	t.bind(q.aggregates, make([]int, len(q.aggregates)))
	if len(q.by) == 0 && len(t.runs) == 0 {
		t.group(nil) // without records, the result is one row with the aggregates of an empty group
		if err := t.settle(); err != nil {
			return nil, nil, err
		}
	}
	g = &groups{query: q, scratch: newScratch(q.aggregates), most: maxResultBytes}
	if len(t.runs) > 0 {
		g.run = t.runs[0]
	}
	count, err := g.run.count()
	if err != nil {
		return nil, nil, err
	}
	g.order = make([]placed, 0, count) // the exact capacity, because the slice may need much memory
	if q.having != nil {
		if g.keeps, err = q.having.open(); err != nil {
			return nil, nil, err
		}
	}
	columns = q.resultColumns()
	for c := (cursor{rest: g.run}); ; {
		at := len(g.run) - len(c.rest)
		if err := cmp.Or(ctx.Err(), c.next()); err != nil {
			return nil, nil, err
		}
		if c.group == nil {
			break
		}
		if ok, err := g.selects(at); err != nil {
			return nil, nil, err
		} else if !ok {
			continue
		}
		g.order = append(g.order, placed{at: at})
		if err := g.describe(columns[len(q.by):], c.states); err != nil {
			return nil, nil, err
		}
	}
	return g, columns, g.sort(ctx, columns)
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

// describe sets the types of columns of minima and maxima to text if the extremes of a group are
// texts, and sets the notes of columns with a group whose result is not exact.
func (g *groups) describe(columns []Column, states []byte) error {
	if !slices.ContainsFunc(g.aggregates, func(a aggregate) bool { return a.takes == numbersOrTexts || a.approximates() }) {
		return nil
	}
	g.scratch.reset()
	if err := g.scratch.read(states); err != nil {
		return err
	}
	for i, a := range g.aggregates {
		s := g.scratch.states[i]
		if a.takes == numbersOrTexts {
			c, err := s.result(0, a)
			if err != nil {
				return jobs.Permanent(err)
			}
			if c.kind == isString {
				columns[i].Type = "text"
			}
		}
		if about, ok := s.(approximate); ok && !about.exact(0) {
			columns[i].Note = a.note
		}
	}
	return nil
}

// cell returns a value of the group at an offset of the run.
func (g *groups) cell(at, column int) (cell, error) {
	c := cursor{rest: g.run[at:]}
	if err := c.next(); err != nil {
		return null, err
	}
	switch {
	case column < len(g.by) && len(g.by) == 1:
		return text(string(c.key)), nil
	case column < len(g.by):
		return text(string(row(c.key).field(column))), nil
	}
	g.scratch.reset()
	if err := g.scratch.read(c.states); err != nil {
		return null, err
	}
	return g.scratch.states[column-len(g.by)].result(0, g.aggregates[column-len(g.by)])
}

// sort sorts the groups by the columns of the parameter order and then by the groups, and drops the
// groups before the offset and above the limit. It begins with the last column by which groups are sorted.
// Groups whose values of a column are equal stay in their order. If the context ends, sort compares no more
// values.
func (g *groups) sort(ctx context.Context, columns []Column) (err error) {
	var orders []rowOrder
	for _, o := range g.query.order {
		at := slices.IndexFunc(columns, func(c Column) bool { return c.Name == o.name })
		orders = append(orders, rowOrder{at, o.descending})
	}
	for i := range g.by {
		orders = append(orders, rowOrder{i, false})
	}
	if err := g.selectFirst(ctx, orders); err != nil {
		return err
	}
	for _, o := range slices.Backward(orders) {
		if err := g.setPrefixes(ctx, g.order, o); err != nil {
			return err
		}
		slices.SortFunc(g.order, func(a, b placed) int {
			if ctx.Err() != nil {
				return 0
			}
			order := cmp.Compare(a.prefix, b.prefix)
			if order == 0 && a.prefix&prefixExact == 0 {
				x, xErr := g.cell(a.at, o.Column)
				y, yErr := g.cell(b.at, o.Column)
				err = cmp.Or(err, xErr, yErr)
				if o.Column < len(g.by) {
					order = compareFields([]byte(x.text), []byte(y.text))
				} else {
					order = compareCells(x, y)
				}
			}
			if o.Descending {
				order = -order
			}
			return cmp.Or(order, cmp.Compare(a.rank, b.rank))
		})
	}
	g.order = g.order[min(g.offset, uint64(len(g.order))):]
	if g.limit > 0 && g.limit < uint64(len(g.order)) {
		g.order = g.order[:g.limit]
	}
	return cmp.Or(err, ctx.Err())
}

// setPrefixes sets the prefix and the rank of groups for sorting by a column.
func (g *groups) setPrefixes(ctx context.Context, list []placed, o rowOrder) error {
	for i := range list {
		c, err := g.cell(list[i].at, o.Column)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		list[i].rank, list[i].prefix = i, c.prefix(o.Column < len(g.by))
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
	c := cursor{rest: g.run[at:]}
	if err := c.next(); err != nil {
		return nil, err
	}
	line := make([]cell, 0, len(g.by)+len(g.aggregates))
	if len(g.by) == 1 {
		line = append(line, text(string(c.key)))
	} else {
		for _, field := range row(c.key).fields() {
			line = append(line, text(string(field)))
		}
	}
	g.scratch.reset()
	if err := g.scratch.read(c.states); err != nil {
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
	prefixExact = 1 // set if only equal values have this prefix
	prefixText  = 7 // number of bytes of a text that a prefix contains
)

// prefix returns an integer that is smaller for a cell that sorts before another cell. Cells with the
// same prefix may differ if the bit prefixExact is not set. The parameter field is true for fields of
// records, which are sorted as numbers if they are numbers.
func (c cell) prefix(field bool) uint64 {
	number, exactly := c.number, !field
	kind := c.kind
	if field {
		if n, ok := exact.Parse([]byte(c.text)); ok {
			number, kind = n, isDecimal
		} else if c.text == "" {
			kind = isNull
		}
	}
	switch kind {
	case isNull:
		return prefixExact
	case isString:
		var word [8]byte
		copy(word[1:], c.text)
		p := 2<<62 | binary.BigEndian.Uint64(word[:])<<6
		if len(c.text) <= prefixText {
			return p | uint64(len(c.text))<<1 | prefixExact
		}
		return p | 15<<1
	}
	f := c.float
	if kind != isFloat {
		f = number.Float()
		exactly = exactly && number.Big == nil && number.Scale == 0 && number.Mantissa>>40 == number.Mantissa>>63
	}
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

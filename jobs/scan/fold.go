package scan

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
	"github.com/bellwether-compute/bellwether/jobs/internal/names"
)

// open returns a Fold function, which must be called from only one goroutine.
func open(p Params, columns []string) (func(acc **table, r *dataset.Record) error, error) {
	q, err := newQuery(p)
	if err != nil {
		return nil, err
	}
	if inputs := q.inputColumns(); inputs != nil {
		columns = inputs
	}
	v, err := q.openValues(columns)
	if err != nil {
		return nil, err
	}
	where, err := q.openWhere(v.names)
	if err != nil {
		return nil, err
	}
	if len(q.aggregates) == 0 {
		return q.openRows(p, v, where)
	}
	return q.newGrouper(v, where).fold, nil
}

// openWhere returns the test of the parameter where, or nil if it selects all rows.
func (q query) openWhere(columns []string) (test, error) {
	if q.where == nil {
		return nil, nil
	}
	positions := names.Positions(columns)
	for _, name := range q.where.columns {
		if _, ok := positions[name]; !ok {
			return nil, fmt.Errorf("parameter where: %w", names.Missing(name, columns))
		}
	}
	where, err := q.where.compile(func(name string) int { return positions[name] })
	if err != nil {
		return nil, fmt.Errorf("parameter where: %w", err)
	}
	return where, nil
}

// grouper adds records to the groups of a table.
type grouper struct {
	values     *values
	where      test // nil selects all rows
	aggregates []aggregate
	by, of     []int  // columns of the groups, and of the aggregates
	numeric    []int  // columns whose fields must be numbers
	extreme    []int  // other columns, of min and max
	plain      int    // column of all aggregates, or -1 if plains do not suffice
	shifts     shifts // of the aggregates; nil if all are of the column plain itself
	used       []int  // columns of by and of, if some may be derived
	key        []byte // memory for the key of a group
}

func (q query) newGrouper(v *values, where test) *grouper {
	g, names := &grouper{values: v, where: where, aggregates: q.aggregates}, v.names
	for _, name := range q.by {
		g.by = append(g.by, slices.Index(names, name))
	}
	for _, a := range q.aggregates {
		g.of = append(g.of, slices.Index(names, a.column))
	}
	columns := func(takes takes, except []int) (list []int) {
		for i, a := range q.aggregates {
			if a.takes == takes && !slices.Contains(except, g.of[i]) && !slices.Contains(list, g.of[i]) {
				list = append(list, g.of[i])
			}
		}
		return list
	}
	g.numeric = columns(numbers, nil)
	g.extreme = columns(numbersOrTexts, g.numeric)
	g.plain = plainColumn(g.aggregates, g.of)
	if g.plain < 0 {
		g.plain, g.shifts = v.shiftedColumn(g.aggregates, g.of)
	}
	if len(v.derived) > 0 {
		g.used = slices.Concat(g.by, g.of)
	}
	return g
}

// fold adds a record to the accumulator of a job.
func (g *grouper) fold(acc **table, r *dataset.Record) error {
	t, v := *acc, g.values
	if !t.bound {
		t.bind(g.aggregates, g.of)
		if g.shifts != nil {
			t.plain, t.shifts = true, g.shifts
		}
	}
	if t.full() {
		if err := t.flush(); err != nil {
			return err
		}
	}
	v.set(r)
	if ok, err := v.satisfies(g.where); !ok || err != nil {
		return err
	}
	if added, err := g.addPlain(t); added || err != nil {
		return err
	}
	if err := v.need(g.used); err != nil {
		return err
	}
	if err := g.check(); err != nil {
		return err
	}
	if len(g.by) == 1 {
		t.add(t.group(v.field(g.by[0])), v)
		return nil
	}
	g.key = appendFields(g.key[:0], v, g.by)
	t.add(t.group(g.key), v)
	return nil
}

// addPlain adds the record to the plain of its group, if plains suffice for the query and for the record.
func (g *grouper) addPlain(t *table) (added bool, err error) {
	v := g.values
	if g.plain < 0 || len(g.by) > 1 || len(g.by) == 0 && g.shifts == nil {
		return false, nil
	}
	number, ok := v.number(g.plain)
	if !ok || g.shifts != nil && (number.Big != nil || number.Scale > 0) {
		return false, nil
	}
	var key []byte
	if len(g.by) == 1 {
		key = v.field(g.by[0])
	}
	if v.err != nil {
		return false, v.err
	}
	t.addNumber(t.group(key), number, v)
	return true, nil
}

// check returns an error if a field of the record must be a number and is not. A bad record must not
// change any state.
func (g *grouper) check() error {
	v := g.values
	for _, column := range g.numeric {
		if _, ok := v.number(column); !ok && len(v.field(column)) > 0 {
			return v.noNumber(column)
		}
	}
	for _, column := range g.extreme {
		if _, ok := v.number(column); !ok && len(v.field(column)) > 0 && v.isFloat(column) { // the float is infinite or NaN
			return v.noNumber(column)
		}
	}
	return nil
}

// addNumber adds a record to a group whose aggregates need only the plain of a number.
func (t *table) addNumber(group int, n *exact.Number, v *values) {
	if n.Big == nil {
		if t.plains[group].add(n.Mantissa, n.Scale) {
			return
		}
		if t.settleGroup(group); t.plains[group].add(n.Mantissa, n.Scale) {
			return
		}
	}
	t.add(group, v)
}

// add adds a record to the states of a group.
func (t *table) add(group int, v *values) {
	for _, s := range t.states {
		s.add(group, v)
	}
}

// openRows returns a Fold function for a query without aggregates.
func (q query) openRows(p Params, v *values, where test) (func(acc **table, r *dataset.Record) error, error) {
	columns := q.rowColumns(v)
	order, err := q.rowOrder(columns)
	if err != nil {
		return nil, err
	}
	fields := q.newRowFields(p, v, columns)
	streams := p.streams(q)
	return func(acc **table, r *dataset.Record) error {
		t := *acc
		t.rows.limit, t.rows.order = q.keptRows(), order
		if t.columns == nil {
			t.columns = columns
		}
		v.set(r)
		if ok, err := v.satisfies(where); !ok || err != nil {
			return err
		}
		if err := v.need(fields.of); err != nil || t.rows.full() && !fields.checks { // which records are bad does not depend on full
			return err
		}
		one, err := fields.row(v)
		t.rows.json = fields.json
		switch {
		case err != nil:
			return err
		case streams:
			t.out.add(one)
		default:
			t.rows.add(one)
		}
		return nil
	}, nil
}

// rowColumns returns the columns of the rows of a query without aggregates.
func (q query) rowColumns(v *values) []string {
	if len(q.columns) > 0 {
		return q.columns
	}
	return allColumns(v)
}

// resultNames returns the columns of the result. The parameter columns has those of the objects and their paths.
func (q query) resultNames(columns []string) (list []string) {
	switch {
	case len(q.aggregates) > 0:
		for _, c := range q.resultColumns() {
			list = append(list, c.Name)
		}
		return list
	case len(q.columns) > 0:
		return q.columns
	}
	return allColumns(&values{names: slices.Concat(q.letNames(), columns), derived: make([]derivedField, len(q.let))})
}

// allColumns returns the columns of the input, and after them the derived columns with other names.
func allColumns(v *values) []string {
	derived, columns := v.names[:len(v.derived)], slices.Clone(v.names[len(v.derived):])
	for _, name := range derived {
		if !slices.Contains(columns, name) {
			columns = append(columns, name)
		}
	}
	return columns
}

// keptRows returns the number of rows to keep, of which Finish drops the first ones if the query has an
// offset. 0 means all rows.
func (q query) keptRows() int {
	if q.limit == 0 {
		return 0
	}
	return int(min(q.limit+q.offset, maxRows+1))
}

// appendFields appends each field of the given columns, preceded by the field's length.
func appendFields(b []byte, v *values, columns []int) []byte {
	for _, c := range columns {
		field := v.field(c)
		b = append(binary.AppendUvarint(b, uint64(len(field))), field...)
	}
	return b
}

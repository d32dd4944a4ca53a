package scan

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
	"github.com/bellwether-compute/bellwether/jobs/dataset/parquet"
)

// Definition is the definition of the job scan.
var Definition = func() jobs.Definition[Params, dataset.Partial[*table], Result] {
	d := dataset.Define(job)
	d.NoAudit = func(p Params) string {
		if p.Output != "" {
			return "each computation of a partition writes its rows to another object; leave out the parameter output"
		}
		return ""
	}
	return d
}()

// storage is the driver to which outputs are written.
var storage = dataset.Open()

var job = dataset.Job[Params, *table, Result]{
	Name: "scan", Version: "7", Summary: "a table from files or blobs: filter, group, aggregate, sort",
	Defaults: Params{Input: dataset.Defaults(), OutputFormat: string(output.CSV)},
	Columns: func(p Params) []string {
		q, err := newQuery(p)
		if err != nil {
			return nil // the error is ignored here, because Open returns it
		}
		return q.inputColumns()
	},
	Start: func() *table { return new(table) },
	Open:  open,
	Bulk: func(p Params, d dataset.Delimited) func(**table, []byte) (int, uint64) {
		k := newKernel(p, d)
		if k == nil {
			return nil
		}
		return func(acc **table, text []byte) (int, uint64) { return k.fold(*acc, text) }
	},
	BulkRows: func(p Params) func(**table, *parquet.Rows) int {
		k := newCodeKernel(p)
		if k == nil {
			return nil
		}
		return func(acc **table, rows *parquet.Rows) int { return k.fold(*acc, rows) }
	},
	Prepare: prepare,
	Store:   store,
	Discard: func(ctx context.Context, p Params, outputID string) error { return p.folder(outputID).Abandon(ctx) },
	Merge:   merge,
	Finish:  finish,
}

// Result is the result of the job: a table.
type Result struct {
	Columns     []Column  `json:"columns"`
	Rows        [][]cell  `json:"rows"`
	RowsRead    uint64    `json:"rows_read"`
	BytesRead   int64     `json:"bytes_read"` // stored size of the objects in bytes, which is the compressed size of compressed objects
	RowsSkipped uint64    `json:"rows_skipped"`
	Skipped     []Skipped `json:"skipped,omitempty"` // descriptions of the first skipped rows
	Output      *Output   `json:"output,omitempty"`  // description of the output; nil if the rows are in Rows
}

// Column is a column of the result.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"` // type of the values: text, integer, decimal (a string in JSON) or float
	Note string `json:"note,omitempty"`
}

// Skipped is a row that could not be read.
type Skipped struct {
	Object string `json:"object"`
	Offset int64  `json:"offset"` // offset of the row in the object in bytes
	Error  string `json:"error"`
}

// open returns a Fold function, which must be called from only one goroutine.
func open(p Params, columns []string) (func(acc **table, r *dataset.Record) error, error) {
	q, err := newQuery(p)
	if err != nil {
		return nil, err
	}
	names := q.inputColumns()
	if names == nil {
		names = columns
	}
	index := func(name string) int { return slices.Index(names, name) }
	v := newValues(names)
	where := test(func(*values) (bool, error) { return true, nil })
	if q.where != nil {
		for _, name := range q.where.columns {
			if index(name) < 0 {
				return nil, fmt.Errorf("parameter where: there is no column %q: the columns are %s", name, strings.Join(names, ", "))
			}
		}
		if where, err = q.where.compile(index); err != nil {
			return nil, fmt.Errorf("parameter where: %w", err)
		}
	}
	if len(q.aggregates) == 0 {
		return q.openRows(names, v, where, p.streams(q))
	}
	by, of := make([]int, len(q.by)), make([]int, len(q.aggregates))
	for i, name := range q.by {
		by[i] = index(name)
	}
	var numeric []int // columns whose fields must be numbers
	var extreme []int // other columns, of min and max
	for i, a := range q.aggregates {
		if of[i] = index(a.column); a.takes == numbers && !slices.Contains(numeric, of[i]) {
			numeric = append(numeric, of[i])
		}
	}
	for i, a := range q.aggregates {
		if a.takes == numbersOrTexts && !slices.Contains(numeric, of[i]) {
			extreme = append(extreme, of[i])
		}
	}
	column, isPlain := plainColumn(q.aggregates, of)
	var key []byte
	return func(acc **table, r *dataset.Record) error {
		t := *acc
		if !t.bound {
			t.bind(q.aggregates, of)
		}
		if t.full() {
			if err := t.flush(); err != nil {
				return err
			}
		}
		v.set(r)
		if q.where != nil {
			if ok, err := where(v); !ok || err != nil {
				return err
			}
		}
		number, isNumber := (*exact.Number)(nil), false
		if isPlain {
			number, isNumber = v.number(column)
		}
		if isNumber && len(by) == 1 {
			group := t.group(v.field(by[0]))
			if number.Big == nil {
				if t.plains[group].add(number.Mantissa, number.Scale) {
					return nil
				}
				if t.settleGroup(group); t.plains[group].add(number.Mantissa, number.Scale) {
					return nil
				}
			}
			for _, s := range t.states {
				s.add(group, v)
			}
			return nil
		}
		for _, column := range numeric { // checked before the first state changes, because a bad record must not change any state
			if _, ok := v.number(column); !ok && len(v.field(column)) > 0 {
				return v.noNumber(column)
			}
		}
		for _, column := range extreme {
			if _, ok := v.number(column); !ok && len(v.field(column)) > 0 && r.IsFloat(column) { // the float is infinite or NaN
				return v.noNumber(column)
			}
		}
		var group int
		if len(by) == 1 {
			group = t.group(v.field(by[0]))
		} else {
			key = appendFields(key[:0], v, by)
			group = t.group(key)
		}
		for _, s := range t.states {
			s.add(group, v)
		}
		return nil
	}, nil
}

// openRows returns a Fold function for a query without aggregates.
func (q query) openRows(names []string, v *values, where test, streams bool) (func(acc **table, r *dataset.Record) error, error) {
	columns := q.columns
	if len(columns) == 0 {
		columns = names
	}
	of := make([]int, len(columns))
	for i, name := range columns {
		of[i] = slices.Index(names, name)
	}
	var order []rowOrder
	for _, o := range q.order {
		at := slices.Index(columns, o.name)
		if at < 0 {
			return nil, fmt.Errorf("parameter order: there is no column %q in the result: the columns are %s", o.name, strings.Join(columns, ", "))
		}
		order = append(order, rowOrder{at, o.descending})
	}
	return func(acc **table, r *dataset.Record) error {
		t := *acc
		t.rows.limit, t.rows.order = int(min(q.limit, maxRows+1)), order
		if t.columns == nil {
			t.columns = columns
		}
		v.set(r)
		if ok, err := where(v); !ok || err != nil || t.rows.full() {
			return err
		}
		if streams {
			t.out.add(appendFields(nil, v, of))
			return nil
		}
		t.rows.add(appendFields(nil, v, of))
		return nil
	}, nil
}

// appendFields appends each field of the given columns, preceded by the field's length.
func appendFields(b []byte, v *values, columns []int) []byte {
	for _, c := range columns {
		field := v.field(c)
		b = append(binary.AppendUvarint(b, uint64(len(field))), field...)
	}
	return b
}

// exactNote is the note of a column whose results could be approximate, but are all exact.
const exactNote = "exact"

// resultColumns returns the columns of the result of a query with aggregates. The types of minima
// and maxima are decimals, and all results are exact.
func (q query) resultColumns() (columns []Column) {
	for _, name := range q.by {
		columns = append(columns, Column{Name: name, Type: "text"})
	}
	for _, a := range q.aggregates {
		c := Column{Name: a.text, Type: a.returns, Note: a.note}
		if a.approximates() {
			c.Note = exactNote
		}
		columns = append(columns, c)
	}
	return columns
}

func finish(ctx context.Context, p Params, t *table, totals dataset.Totals) (result Result, err error) {
	q, err := newQuery(p)
	if err != nil {
		return result, err
	}
	result = Result{RowsRead: totals.Records, BytesRead: totals.Bytes, RowsSkipped: totals.Skipped, Rows: [][]cell{}, Columns: []Column{}}
	for _, s := range totals.Samples {
		result.Skipped = append(result.Skipped, Skipped{s.Object, s.Offset, s.Text})
	}
	lines := iter.Seq2[[]cell, error](noLines)
	if len(q.aggregates) == 0 {
		err = t.finishRows(&result)
	} else {
		var g *groups
		if g, result.Columns, err = q.newGroups(t); err == nil && p.Output == "" {
			result.Rows, err = g.finish()
		} else if err == nil {
			lines = g.lines()
		}
	}
	if err == nil && p.Output != "" {
		err = finishOutput(ctx, p, totals.OutputID, t, lines, &result)
	}
	return result, err
}

func (t *table) finishRows(result *Result) error {
	t.rows.trim()
	if err := t.rows.err(); err != nil {
		return jobs.Permanent(err)
	}
	for _, name := range t.columns {
		result.Columns = append(result.Columns, Column{Name: name, Type: "text"})
	}
	for _, r := range t.rows.list {
		line := make([]cell, 0, len(t.columns))
		for _, field := range r.fields() {
			line = append(line, text(string(field)))
		}
		result.Rows = append(result.Rows, line)
	}
	return nil
}

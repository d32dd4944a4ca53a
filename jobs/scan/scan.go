package scan

import (
	"context"
	"fmt"
	"iter"
	"maps"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
	"github.com/bellwether-compute/bellwether/jobs/dataset/parquet"
)

// Definition is the definition of the job scan.
var Definition = func() jobs.Definition[Params, dataset.Partial[*table], Result] {
	d := dataset.Define(job)
	plan := d.Plan
	d.Plan = func(ctx context.Context, p Params) (jobs.Plan, error) {
		planned, err := plan(ctx, p)
		return planned, hintAtNames(p, err)
	}
	d.NoAudit = func(p Params) string {
		if p.Output != "" {
			return "each computation of a partition writes its rows to another object; leave out the parameter output"
		}
		return ""
	}
	d.NoReuse = func(p Params) string {
		if p.Output != "" {
			return "its rows are in objects that belong to the job that has written them; leave out the parameter output"
		}
		return ""
	}
	return d
}()

var job = dataset.Job[Params, *table, Result]{
	Name: "scan", Version: "18", Summary: "a table from files or blobs: filter, group, aggregate, sort",
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
	Check: func(p Params, times map[string]string) error {
		q, err := newQuery(p)
		if err != nil || q.where == nil {
			return err
		}
		times = maps.Clone(times)
		for _, name := range q.letNames() {
			delete(times, name)
		}
		if err := checkTimes(q.where.tree, times); err != nil {
			return fmt.Errorf("parameter where: %w", err)
		}
		return nil
	},
	Skip:    skip,
	Prepare: prepare,
	Store:   store,
	Discard: func(ctx context.Context, p Params, outputID string) error {
		return p.folder(ctx, outputID).Abandon(ctx)
	},
	Merge:  merge,
	Refuse: refuse,
	Finish: finish,
	Second: second,
}

// Result is the result of the job: a table.
type Result struct {
	Columns     []Column  `json:"columns"`
	Rows        [][]cell  `json:"rows"`
	RowsRead    uint64    `json:"rows_read"`
	BytesRead   int64     `json:"bytes_read"` // stored size of the objects in bytes, which is the compressed size of compressed objects
	RowsSkipped uint64    `json:"rows_skipped"`
	Skipped     []Skipped `json:"skipped,omitempty"` // descriptions of the first skipped rows
	Omitted     []string  `json:"omitted,omitempty"` // columns that are left out, as in dataset.Totals
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

// noLines yields no rows.
func noLines(func([]cell, error) bool) {}

func finish(ctx context.Context, p Params, t *table, totals dataset.Totals) (result Result, err error) {
	q, err := newQuery(p)
	if err != nil {
		return result, err
	}
	result = Result{RowsRead: totals.Records, BytesRead: totals.Bytes, RowsSkipped: totals.Skipped, Rows: [][]cell{}, Columns: []Column{}, Omitted: totals.Omitted}
	for _, s := range totals.Samples {
		result.Skipped = append(result.Skipped, Skipped{s.Object, s.Offset, s.Text})
	}
	lines := iter.Seq2[[]cell, error](noLines)
	switch {
	case len(q.aggregates) == 0:
		err = t.finishRows(q, &result)
	case t.notes != nil: // there was a second pass
		result.Columns, lines = q.notedColumns(t.notes), q.sortedLines(ctx, t.spilled)
	default:
		var g *groups
		var n notes
		g, n, err = q.newGroups(ctx, t)
		result.Columns = q.notedColumns(n)
		if err == nil && p.Output == "" {
			result.Rows, err = g.finish(ctx)
		} else if err == nil {
			lines = g.lines()
		}
	}
	if err == nil && p.Output != "" {
		err = finishOutput(ctx, p, q, totals, t, lines, &result)
	}
	return result, err
}

func (t *table) finishRows(q query, result *Result) error {
	t.rows.trim()
	if err := t.rows.err(); err != nil {
		return jobs.Permanent(err)
	}
	result.Columns = append(result.Columns, textColumns(t.columns)...)
	for _, r := range t.rows.list[min(q.offset, uint64(len(t.rows.list))):] {
		line := make([]cell, 0, len(t.columns))
		for _, field := range r.fields() {
			line = append(line, text(string(field)))
		}
		result.Rows = append(result.Rows, line)
	}
	return nil
}

package scan

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
	"github.com/bellwether-compute/bellwether/jobs/dataset/typed"
)

// Output describes the output of a job with the parameter output.
type Output struct {
	Manifest string        `json:"manifest"` // name of the object that lists the objects
	Format   output.Format `json:"format"`
	Objects  int           `json:"objects"`
	Rows     uint64        `json:"rows"`
	Bytes    int64         `json:"bytes"`
}

const (
	// objectBytes is the size of the rows in memory, in bytes, above which the rows are written to
	// an object.
	objectBytes = 32 << 20
	// maxInline is the maximum number of bytes of rows that a partition keeps in its partial. A
	// partition with few rows therefore needs no object.
	maxInline = 1 << 10
)

// streams reports whether rows are written to objects while the records are read. Otherwise the
// table is kept in memory until the job ends, because the rows must be grouped, sorted or limited.
func (p Params) streams(q query) bool {
	return p.Output != "" && len(q.aggregates) == 0 && len(q.order) == 0 && q.limit == 0
}

func (p Params) checkOutput() error {
	if p.Output == "" {
		return nil
	}
	if err := output.CheckName(p.Output); err != nil {
		return fmt.Errorf("parameter output: %w", err)
	}
	return nil
}

// folder returns the folder of the output with an ID.
func (p Params) folder(ctx context.Context, id string) output.Folder {
	return dataset.OutputFolder(ctx, p.Output, id, output.Format(p.OutputFormat))
}

// prepare refuses an output folder that is in use, and types of columns that the output does not have. It reports whether the job
// has an output.
func prepare(ctx context.Context, p Params, columns []string) (bool, error) {
	if p.Output == "" {
		return false, nil
	}
	q, err := newQuery(p)
	if err != nil {
		return false, jobs.Permanent(err)
	}
	if err := q.checkTypes(q.resultNames(columns)); err != nil {
		return false, jobs.Permanent(err)
	}
	return true, dataset.CheckOutput(ctx, p.Output)
}

// pending contains the rows of the output in the order of the input. Each element of parts is an
// object, with the rows in memory that precede the object. The field rows contains the rows after
// the last object.
type pending struct {
	parts []part
	rows  []row
	bytes int // size of rows in bytes
}

// part is an object of the output, with the rows in memory that precede the object. Rows at the
// borders of partitions stay in memory, because Merge joins them after the objects of both
// partitions were written.
type part struct {
	before []row
	output.Part
}

func (o *pending) add(r row) {
	o.rows = append(o.rows, r)
	o.bytes += len(r)
}

func (o *pending) merge(right pending) {
	if len(right.parts) == 0 {
		o.rows = append(o.rows, right.rows...)
		o.bytes += right.bytes
		return
	}
	right.parts[0].before = append(o.rows, right.parts[0].before...)
	o.parts = append(o.parts, right.parts...)
	o.rows, o.bytes = right.rows, right.bytes
}

// store writes the rows in memory to an object if they are large enough.
func store(ctx context.Context, p Params, at dataset.Place, acc **table) error {
	t := *acc
	if t.out.bytes < objectBytes && (!at.Last || t.out.bytes <= maxInline) {
		return nil
	}
	q, err := newQuery(p)
	if err != nil {
		return jobs.Permanent(err)
	}
	to := p.folder(ctx, at.OutputID)
	to.Room = roomOf(t.out.bytes)
	columns := q.outputColumns(to.Format, textColumns(t.columns), at.Types)
	return t.writeObject(ctx, to, columns, at.Partition, fieldsOf(t.out.rows))
}

// roomOf returns the size in bytes of the text of most rows whose fields have a number of bytes.
func roomOf(bytes int) int { return bytes + bytes/4 }

// writeObject writes rows to an object, which follows those of the partition.
func (t *table) writeObject(ctx context.Context, to output.Folder, columns []output.Column, partition uint64, rows iter.Seq[[][]byte]) error {
	written, err := to.Write(ctx, fmt.Sprintf("%08d-%06d", partition, len(t.out.parts)), columns, rows)
	if err != nil {
		return permanent(err)
	}
	t.out = pending{parts: append(t.out.parts, part{Part: written})}
	return to.RemoveLate(ctx, written)
}

// fieldsOf yields the fields of rows.
func fieldsOf(rows []row) iter.Seq[[][]byte] {
	return func(yield func(fields [][]byte) bool) {
		for _, r := range rows {
			if !yield(r.fields()) {
				return
			}
		}
	}
}

func textColumns(names []string) (columns []Column) {
	for _, name := range names {
		columns = append(columns, Column{Name: name, Type: "text"})
	}
	return columns
}

// permanent marks the error of a field that is not a value of its column's type.
func permanent(err error) error {
	if _, ok := errors.AsType[*typed.Error](err); ok {
		return jobs.Permanent(err)
	}
	return err
}

func (o *pending) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(o.parts)))
	for _, p := range o.parts {
		b = appendRows(b, p.before)
		b = appendText(b, p.Name)
		b = binary.AppendUvarint(b, p.Rows)
		b = binary.AppendUvarint(b, uint64(p.Bytes))
		b = appendText(b, p.SHA256)
	}
	return appendRows(b, o.rows)
}

func appendRows(b []byte, rows []row) []byte {
	b = binary.AppendUvarint(b, uint64(len(rows)))
	for _, r := range rows {
		b = appendText(b, string(r))
	}
	return b
}

// read decodes rows with a number of columns.
func (o *pending) read(b []byte, columns int) ([]byte, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)) {
		return nil, errStates
	}
	b = b[size:]
	var err error
	for range n {
		var p part
		if p.before, b, err = readRows(b, columns); err != nil {
			return nil, err
		}
		name, rest, err := readText(b)
		if err != nil {
			return nil, err
		}
		rows, size := binary.Uvarint(rest)
		bytes, more := binary.Uvarint(rest[max(size, 0):])
		if size <= 0 || more <= 0 {
			return nil, errStates
		}
		sum, rest, err := readText(rest[size+more:])
		if err != nil {
			return nil, err
		}
		p.Part = output.Part{Name: string(name), Rows: rows, Bytes: int64(bytes), SHA256: string(sum)}
		o.parts, b = append(o.parts, p), rest
	}
	rows, b, err := readRows(b, columns)
	for _, r := range rows {
		o.add(r)
	}
	return b, err
}

func readRows(b []byte, columns int) (rows []row, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)) {
		return nil, nil, errStates
	}
	b = b[size:]
	for range n {
		text, rest, err := readText(b)
		if err != nil || !wellFormed(text, columns) {
			return nil, nil, errStates
		}
		rows, b = append(rows, slices.Clone(text)), rest
	}
	return rows, b, nil
}

// wellFormed reports whether text is the encoding of a row with a number of columns.
func wellFormed(text []byte, columns int) bool {
	for ; len(text) > 0; columns-- {
		_, rest, err := readText(text)
		if err != nil {
			return false
		}
		text = rest
	}
	return columns == 0
}

// finishOutput writes the rows in memory to objects, and commits the output. The result then
// contains a description of the output, and no rows.
func finishOutput(ctx context.Context, p Params, q query, totals dataset.Totals, t *table, groups iter.Seq2[[]cell, error], result *Result) error {
	to := p.folder(ctx, totals.OutputID)
	columns := append([]output.Column{}, q.outputColumns(to.Format, result.Columns, totals.Types)...)
	parts, err := writeLeft(ctx, to, columns, t, result.Rows, groups)
	if err != nil {
		return permanent(err)
	}
	name, m, err := to.Commit(ctx, columns, parts)
	if err != nil {
		return err
	}
	result.Rows = [][]cell{}
	result.Output = &Output{Manifest: name, Format: m.Format, Objects: len(m.Objects), Rows: m.Rows, Bytes: m.Bytes}
	return nil
}

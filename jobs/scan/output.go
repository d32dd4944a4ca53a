package scan

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
)

// Output describes the output of a job that has the parameter output.
type Output struct {
	Manifest string        `json:"manifest"` // name of the object that lists the objects
	Format   output.Format `json:"format"`
	Objects  int           `json:"objects"`
	Rows     uint64        `json:"rows"`
	Bytes    int64         `json:"bytes"`
}

const (
	// objectBytes is the number of bytes of rows after which an object of the output is written.
	objectBytes = 32 << 20
	// maxInline is the maximum number of bytes of rows of one partition that stay in its partial
	// instead of going to an object, so that a partition with few rows needs no object.
	maxInline = 1 << 10
)

// streams reports whether the rows of the result go to objects while the records are read. Otherwise
// the table is kept in memory until the job ends, because the rows must be grouped, sorted or
// limited.
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

func (p Params) folder(run string) output.Folder {
	name := p.Output
	if !strings.HasSuffix(name, "/") {
		name += "/"
	}
	return output.Folder{Driver: storage, Name: name, Run: run, Format: output.Format(p.OutputFormat)}
}

// prepare refuses an output folder that is in use. prepare reports whether there is an output.
func prepare(ctx context.Context, p Params, _ []string) (bool, error) {
	if p.Output == "" {
		return false, nil
	}
	err := output.Check(ctx, storage, p.folder("").Name)
	if errors.Is(err, output.ErrExists) {
		err = jobs.Permanent(fmt.Errorf("parameter output: %w", err))
	}
	return true, err
}

// pending are the rows of the output that are in memory, and the objects of the rows that are not.
type pending struct {
	parts []output.Part
	rows  []row
	bytes int
}

func (o *pending) add(r row) {
	o.rows = append(o.rows, r)
	o.bytes += len(r)
}

func (o *pending) merge(right pending) {
	o.parts = append(o.parts, right.parts...)
	o.rows = append(o.rows, right.rows...)
	o.bytes += right.bytes
}

// store writes the rows in memory to an object if there are enough of them.
func store(ctx context.Context, p Params, at dataset.Place, acc **table) error {
	t := *acc
	if t.out.bytes < objectBytes && (!at.Last || t.out.bytes <= maxInline) {
		return nil
	}
	to := p.folder(at.Run)
	if err := t.out.write(ctx, to, fmt.Sprintf("%08d", at.Partition), textColumns(t.columns)); err != nil {
		return err
	}
	return to.RemoveLate(ctx, t.out.parts[len(t.out.parts)-1])
}

// write writes the rows in memory to an object.
func (o *pending) write(ctx context.Context, to output.Folder, label string, columns []output.Column) error {
	part, err := to.Write(ctx, label, columns, o.each)
	if err != nil {
		return err
	}
	o.parts = append(o.parts, part)
	o.rows, o.bytes = nil, 0
	return nil
}

// each yields the fields of the rows in memory.
func (o *pending) each(yield func(fields [][]byte) bool) {
	for _, r := range o.rows {
		if !yield(r.fields()) {
			return
		}
	}
}

func textColumns(names []string) (columns []output.Column) {
	for _, name := range names {
		columns = append(columns, output.Column{Name: name, Type: "text"})
	}
	return columns
}

func (o *pending) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(o.parts)))
	for _, p := range o.parts {
		b = appendText(b, p.Name)
		b = binary.AppendUvarint(b, p.Rows)
		b = binary.AppendUvarint(b, uint64(p.Bytes))
		b = appendText(b, p.SHA256)
	}
	b = binary.AppendUvarint(b, uint64(len(o.rows)))
	for _, r := range o.rows {
		b = appendText(b, string(r))
	}
	return b
}

func (o *pending) read(b []byte) ([]byte, error) {
	number := func(most int) uint64 {
		n, size := binary.Uvarint(b)
		if size <= 0 || most >= 0 && n > uint64(most) {
			b = nil
			return 0
		}
		b = b[size:]
		return n
	}
	for range number(len(b)) {
		var p output.Part
		name, rest, err := readText(b)
		if err != nil {
			return nil, err
		}
		b = rest
		p.Rows, p.Bytes = number(-1), int64(number(-1))
		sum, rest, err := readText(b)
		if err != nil {
			return nil, err
		}
		b = rest
		p.Name, p.SHA256 = string(name), string(sum)
		o.parts = append(o.parts, p)
	}
	if b == nil {
		return nil, errStates
	}
	for range number(len(b)) {
		text, rest, err := readText(b)
		if err != nil || !wellFormed(text) {
			return nil, errStates
		}
		o.add(slices.Clone(text))
		b = rest
	}
	if b == nil {
		return nil, errStates
	}
	return b, nil
}

// wellFormed reports whether text is the encoding of a row.
func wellFormed(text []byte) bool {
	for len(text) > 0 {
		_, rest, err := readText(text)
		if err != nil {
			return false
		}
		text = rest
	}
	return true
}

// finishOutput writes the rows that are left, and commits the output. The result then describes the
// output instead of containing the rows.
func finishOutput(ctx context.Context, p Params, run string, t *table, result *Result) error {
	to := p.folder(run)
	columns := []output.Column{}
	for _, c := range result.Columns {
		columns = append(columns, output.Column{Name: c.Name, Type: c.Type})
	}
	parts, err := writeLeft(ctx, to, columns, t, result)
	if err != nil {
		return err
	}
	name, m, err := to.Commit(ctx, columns, parts)
	if err != nil {
		return err
	}
	result.Rows = [][]cell{}
	result.Output = &Output{Manifest: name, Format: m.Format, Objects: len(m.Objects), Rows: m.Rows, Bytes: m.Bytes}
	return nil
}

// writeLeft writes the rows that are in memory, and returns all parts of the output. After an error it
// removes the objects that it has written.
func writeLeft(ctx context.Context, to output.Folder, columns []output.Column, t *table, result *Result) ([]output.Part, error) {
	left := pending{parts: slices.Clip(t.out.parts)}
	add := func(r row) error {
		if left.add(r); left.bytes < objectBytes {
			return nil
		}
		return left.write(ctx, to, "end", columns)
	}
	rows := func(yield func(row) bool) {
		for _, r := range t.out.rows {
			if !yield(r) {
				return
			}
		}
		for _, cells := range result.Rows {
			if !yield(rowOf(cells)) {
				return
			}
		}
	}
	var err error
	for r := range rows {
		if err = add(r); err != nil {
			break
		}
	}
	if err == nil && len(left.rows) > 0 {
		err = left.write(ctx, to, "end", columns)
	}
	if err != nil {
		return nil, errors.Join(err, to.RemoveParts(context.WithoutCancel(ctx), left.parts[len(t.out.parts):]))
	}
	return left.parts, nil
}

// rowOf returns the cells of a result as a row of text.
func rowOf(cells []cell) (r row) {
	for _, c := range cells {
		r = appendText(r, c.String())
	}
	return r
}

// String returns the value as it is written to the output. A null is empty.
func (c cell) String() string {
	switch c.kind {
	case isInteger, isDecimal:
		return c.number.String()
	case isFloat:
		return strconv.FormatFloat(c.float, 'g', -1, 64)
	case isString:
		return c.text
	}
	return ""
}

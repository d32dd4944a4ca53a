package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
)

// writesInFlight is the maximum number of objects that writeLeft writes at the same time.
const writesInFlight = 4

// writeLeft writes the rows that are in memory and the rows of the groups, and returns all parts of
// the output in the order of the rows. The names of the objects sort in the order of the rows. After
// an error, writeLeft removes the objects that it has written.
func writeLeft(ctx context.Context, to output.Folder, columns []output.Column, t *table, lines [][]cell, groups iter.Seq2[[]cell, error]) ([]output.Part, error) {
	w := writer{to: to, columns: columns, partition: "00000000"}
	w.group, w.ctx = errgroup.WithContext(ctx)
	w.group.SetLimit(writesInFlight)
	for _, p := range t.out.parts {
		w.add(p.before...)
		w.flush()
		w.all = append(w.all, &p.Part)
		w.partition, _, _ = strings.Cut(to.Label(p.Part), "-")
	}
	w.add(t.out.rows...)
	for _, cells := range lines {
		w.add(rowOf(cells))
	}
	var failed error
	for cells, err := range groups {
		if failed = cmp.Or(err, w.ctx.Err()); failed != nil {
			break
		}
		w.add(rowOf(cells))
	}
	w.flush()
	err := cmp.Or(w.group.Wait(), failed)
	if err != nil {
		err = errors.Join(err, w.remove(context.WithoutCancel(ctx)))
	}
	parts := make([]output.Part, len(w.all))
	for i, p := range w.all {
		parts[i] = *p
	}
	return parts, err
}

// writer writes rows to objects, several objects at the same time.
type writer struct {
	to        output.Folder
	columns   []output.Column
	partition string // partition of the previous object, which determines the name of the next object
	left      pending

	ctx          context.Context
	group        *errgroup.Group
	all, written []*output.Part // parts of the output so far, and those that the writer writes
}

func (w *writer) add(rows ...row) {
	for _, r := range rows {
		if w.left.add(r); w.left.bytes >= objectBytes {
			w.flush()
		}
	}
}

// flush begins to write the rows in memory.
func (w *writer) flush() {
	rows := w.left.rows
	if w.left = (pending{}); len(rows) == 0 {
		return
	}
	label, p := fmt.Sprintf("%s-end%06d", w.partition, len(w.written)), new(output.Part)
	w.all, w.written = append(w.all, p), append(w.written, p)
	w.group.Go(func() (err error) {
		*p, err = w.to.Write(w.ctx, label, w.columns, fieldsOf(rows))
		return err
	})
}

// remove removes the written objects.
func (w *writer) remove(ctx context.Context) (err error) {
	for _, p := range w.written {
		if p.Name != "" {
			err = errors.Join(err, w.to.Driver.Remove(ctx, p.Name))
		}
	}
	return err
}

// rowOf returns the cells of a result as a row of text.
func rowOf(cells []cell) (r row) {
	for _, c := range cells {
		r = appendText(r, c.String())
	}
	return r
}

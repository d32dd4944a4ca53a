package dataset

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// pruner leaves out objects, and folders of objects, by the columns in their names.
type pruner struct {
	test func(columns []string) func(r *Record) bool // the job's Skip with its parameters

	tests map[string]func(r *Record) bool // by the columns
	used  map[string]bool                 // columns in the names that were left out
}

// newPruner returns a pruner that leaves out what the job skips, or nil if the job has no Skip.
func (e *engine[P, A, R]) newPruner(p P) *pruner {
	if e.job.Skip == nil {
		return nil
	}
	return &pruner{
		test:  func(columns []string) func(r *Record) bool { return e.job.Skip(p, columns) },
		tests: map[string]func(r *Record) bool{}, used: map[string]bool{},
	}
}

// skips reports whether the job needs no record of an object, or of the objects below a folder, whose name ends in a
// slash.
func (p *pruner) skips(name string) bool {
	var columns []string
	for column := range pathColumns(name) {
		if !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
	}
	if len(columns) == 0 {
		return false
	}
	key := strings.Join(columns, "/")
	test, known := p.tests[key]
	if !known {
		test = p.test(columns)
		p.tests[key] = test
	}
	if test == nil {
		return false
	}
	l := &layout{}
	l.appendPath(columns)
	if !test(&Record{layout: l, object: name, place: place{columns: columns}}) {
		return false
	}
	for _, column := range columns {
		p.used[column] = true
	}
	return true
}

// left reports whether an object was left out.
func (p *pruner) left() bool { return p != nil && len(p.used) > 0 }

// hidden reports whether an object has one of the columns by which objects were left out. The columns of the objects hide
// those of the names.
func (p *pruner) hidden(columns []string) bool {
	return p != nil && slices.ContainsFunc(columns, func(name string) bool { return p.used[name] })
}

// list lists the objects that match a pattern and that the job does not skip.
func (p *pruner) list(ctx context.Context, from source.Lister, pattern string) iter.Seq2[source.Object, error] {
	if p == nil {
		return from.List(ctx, pattern)
	}
	objects := from.List(ctx, pattern)
	if pruning, ok := from.(source.Pruner); ok {
		objects = pruning.ListPruned(ctx, pattern, p.skips)
	}
	return func(yield func(source.Object, error) bool) {
		for o, err := range objects {
			if err == nil && p.skips(o.Name) {
				continue
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

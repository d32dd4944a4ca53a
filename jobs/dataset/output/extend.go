package output

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// A job that skipped partitions has committed a manifest without their files. Several jobs may retry it, also at the same
// time, and a call of Finish may continue although its worker is believed dead. No call needs to know of the others, because
// manifests only grow: the files of a partition that a manifest lists are in all later ones, and no others of the same
// partition. So an object of a listed partition that is not listed itself can be removed at any time, and an object of
// another partition stays.
//
// An output of rows has no such manifests, because one object may have rows of many partitions.

// extend returns the manifest of the folder, after it has added the files of the partitions that only m lists. It fails with
// source.ErrChanged if another call has replaced the manifest at the same time, and with ErrExists if the manifest is that of
// another job.
func (f Folder) extend(ctx context.Context, m Manifest) (source.Object, Manifest, error) {
	o, first, err := read(ctx, f.Driver, f.Name)
	switch {
	case err != nil:
		return o, m, err
	case first.ID != f.ID || f.Format != Files && first.Rows != m.Rows:
		return o, m, fmt.Errorf("%s: %w", f.Name, ErrExists)
	case f.Format != Files:
		return o, first, nil
	}
	next := f.union(first, m)
	if len(next.Objects) == len(first.Objects) {
		return o, first, nil
	}
	if _, err := f.compare(ctx, next); err != nil {
		return o, m, err
	}
	content, err := next.encode()
	if err != nil {
		return o, m, err
	}
	o, err = f.Driver.Replace(ctx, o, content)
	return o, next, err
}

// union returns the manifest first with the files of the partitions that only m lists.
func (f Folder) union(first, m Manifest) Manifest {
	listed := f.partitions(first)
	parts := slices.Clone(first.Objects)
	for _, p := range m.Objects {
		if !listed[f.partition(p.Name)] {
			parts = append(parts, p)
		}
	}
	slices.SortStableFunc(parts, func(a, b Part) int {
		x, y := f.partition(a.Name), f.partition(b.Name)
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
	})
	return f.manifest(first.Columns, parts)
}

// final returns a function that reports whether no manifest after m can list an object that m does not list.
func (f Folder) final(m Manifest) func(name string) bool {
	if f.Format != Files {
		return func(string) bool { return true }
	}
	listed := f.partitions(m)
	return func(name string) bool { return listed[f.partition(name)] }
}

func (f Folder) partitions(m Manifest) map[string]bool {
	set := map[string]bool{}
	for _, p := range m.Objects {
		set[f.partition(p.Name)] = true
	}
	return set
}

// partition returns the partition in the name of an object, or of the temporary file of one.
func (f Folder) partition(name string) string {
	base := strings.TrimPrefix(name[strings.LastIndex(name, "/")+1:], ".")
	partition, _, _ := strings.Cut(f.label(base), "-")
	return partition
}

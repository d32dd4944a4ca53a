package dataset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/typed"
)

// byName is the value of the parameter union with which the columns of an object are found by their names.
const byName = "by-name"

// maxHeaders is the maximum number of different lists of columns that the objects of a job may have. Each partial contains the lists.
const maxHeaders = 1000

// checkUnion returns an error if the objects of a format have no names of columns that could differ.
func (in Input) checkUnion(f format) error {
	switch {
	case in.Union == "":
		return nil
	case in.Union != byName:
		return fmt.Errorf("parameter union: got %q, takes %s", in.Union, byName)
	case f == ndjson:
		return fmt.Errorf("parameter union: the members of JSON objects are always read by name: leave it out, and give members that the first records lack with the parameter names")
	case f != csv && f != tsv && f != parquetFormat:
		return fmt.Errorf("parameter union: takes csv, tsv or parquet, and the format of the input is %s: leave it out, or give the parameter format if the format is wrong", f)
	case f != parquetFormat && (!in.Header || in.Names != ""):
		return fmt.Errorf("parameter union: wants objects with headers, and the parameter header is false or names is given: leave out union")
	}
	return nil
}

// columnList is the list of the columns of one or more objects.
type columnList struct {
	object  string // name of the first such object
	columns []string
	types   []typed.Type // types of the columns of Parquet objects
}

// union contains the lists of columns of the objects of a listing.
type union struct {
	lists []*columnList
	of    []uint64 // index of the list of each object; 0 for an empty object
}

// unionOf reads the columns of all objects. It refuses objects whose columns have types that differ.
func (r reader) unionOf(ctx context.Context, in Input, f format, l listing) (u union, err error) {
	found, known, mu := make([]*columnList, len(l)), map[string]*columnList{}, sync.Mutex{}
	group, loading := errgroup.WithContext(ctx)
	group.SetLimit(headersInFlight)
	for i, o := range l {
		if loading.Err() != nil {
			break
		}
		group.Go(func() error {
			list, err := r.columnsOf(loading, in, f, o)
			if list == nil || err != nil {
				return err
			}
			key := fmt.Sprintf("%q %v", list.columns, list.types)
			mu.Lock()
			defer mu.Unlock()
			if known[key] == nil {
				known[key] = list
			}
			found[i] = known[key]
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return u, err
	}
	numbers := map[*columnList]uint64{}
	u.of = make([]uint64, len(l))
	for i, list := range found {
		if list == nil {
			continue
		}
		if _, again := numbers[list]; !again {
			numbers[list], list.object = uint64(len(u.lists)), l[i].Name
			u.lists = append(u.lists, list)
		}
		u.of[i] = numbers[list]
	}
	if len(u.lists) > maxHeaders {
		return u, jobs.Permanent(fmt.Errorf("%s: the objects up to this one have %d different lists of columns, and at most %d can be read by name: read the input in several jobs", u.lists[maxHeaders].object, maxHeaders+1, maxHeaders))
	}
	return u, u.checkTypes()
}

// columnsOf returns the columns of an object, or nil if it is empty.
func (r reader) columnsOf(ctx context.Context, in Input, f format, o source.Object) (*columnList, error) {
	list := &columnList{}
	if f == parquetFormat {
		file, _, err := r.openParquet(ctx, o)
		if err != nil {
			return nil, permanent(err)
		}
		list.columns, list.types = file.Columns(), file.Typed()
	} else {
		var err error
		if list.columns, err = r.columns(ctx, in, f, listing{o}); err != nil || list.columns == nil {
			return nil, err
		}
	}
	if err := checkNames(list.columns, list.columns); err != nil {
		return nil, jobs.Permanent(&Fault{Object: o.Name, Text: err.Error()})
	}
	return list, nil
}

// checkTypes returns an error if a column has types of different kinds. Numbers are of one kind.
func (u union) checkTypes() error {
	first := map[string]int{} // index of the first list with the column
	for i, list := range u.lists {
		for c, t := range list.types {
			name := list.columns[c]
			at, ok := first[name]
			if !ok {
				first[name] = i
				continue
			}
			other := u.lists[at]
			if o := other.types[slices.Index(other.columns, name)]; commonType(o, t) == nil {
				return jobs.Permanent(fmt.Errorf("column %q has the type %s in %s and %s in %s: want one type in all objects; write one of them again, or read them in two jobs", name, o, other.object, t, list.object))
			}
		}
	}
	return nil
}

// commonType returns the type of the values of two types, or nil if their kinds differ.
func commonType(a, b typed.Type) *typed.Type {
	isNumber := func(t typed.Type) bool {
		return t.Kind == typed.Integer || t.Kind == typed.Decimal || t.Kind == typed.Float
	}
	switch {
	case a == b:
		return &a
	case isNumber(a) && (a.Kind == typed.Float || b.Kind == typed.Float) && isNumber(b):
		return &typed.Type{Kind: typed.Float}
	case isNumber(a) && isNumber(b):
		return &typed.Type{Kind: typed.Decimal}
	case a.Kind == b.Kind:
		return &typed.Type{Kind: a.Kind, Nanoseconds: a.Nanoseconds || b.Nanoseconds}
	}
	return nil
}

// columns returns the columns of all objects, in the order in which the objects have them first.
func (u union) columns() (all []string) {
	known := map[string]bool{}
	for _, list := range u.lists {
		for _, name := range list.columns {
			if !known[name] {
				known[name] = true
				all = append(all, name)
			}
		}
	}
	return all
}

// headers returns the names in each list.
func (u union) headers() (list [][]string) {
	for _, l := range u.lists {
		list = append(list, l.columns)
	}
	return list
}

// samples returns the objects whose columns are used: the first one, or if columns are read by name, one with each list.
func (data planData) samples(l listing) (list listing) {
	if len(data.Headers) == 0 {
		return l[:1]
	}
	known := make([]bool, len(data.Headers))
	for i, header := range data.HeaderOf {
		if i < len(l) && l[i].Size > 0 && header < uint64(len(known)) && !known[header] {
			known[header], list = true, append(list, l[i])
		}
	}
	return list
}

// headerOf returns a function that returns the index of the list of columns of an object, or nil if the columns are not read by
// name.
func (data planData) headerOf(l listing) func(object string) int {
	if len(data.Headers) == 0 {
		return nil
	}
	of := make(map[string]int, len(l))
	for i, header := range data.HeaderOf {
		if i < len(l) && header > 0 {
			of[l[i].Name] = int(header)
		}
	}
	return func(object string) int { return of[object] }
}

// columnTypes returns the types of the columns of Parquet objects for an output, their names for the preview, and examples of the texts
// of times.
func (r reader) columnTypes(ctx context.Context, samples listing) (types map[string]typed.Type, shown, times map[string]string, err error) {
	types, shown, times = map[string]typed.Type{}, map[string]string{}, map[string]string{}
	for _, o := range samples {
		f, _, err := r.openParquet(ctx, o)
		if err != nil {
			return nil, nil, nil, err
		}
		names := f.Types()
		for i, t := range f.Typed() {
			column := f.Columns()[i]
			if before, ok := types[column]; ok {
				if t = *commonType(before, t); shown[column] != names[i] {
					names[i], _, _ = strings.Cut(t.String(), "(")
				}
			}
			types[column], shown[column] = t, names[i]
		}
		for column, example := range f.Times() {
			times[column] = example
		}
	}
	return types, shown, times, nil
}

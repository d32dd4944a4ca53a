package kmeans

import (
	"fmt"
	"iter"
	"math"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
)

// rows are the rows of a partition.
type rows struct {
	names  []string  // names of the columns in values; nil if there are no rows
	values []float64 // one row after the other
	kept   []string  // fields of the columns that are copied to the output, one row after the other
	bytes  int64     // size of the texts in kept
}

// count returns the number of rows.
func (r rows) count() int { return len(r.values) / max(1, len(r.names)) }

// row returns the numbers of a row.
func (r rows) row(at int) []float64 {
	width := len(r.names)
	return r.values[at*width : (at+1)*width : (at+1)*width]
}

// each yields the rows with their numbers.
func (r rows) each() iter.Seq2[int, []float64] {
	return func(yield func(int, []float64) bool) {
		for at := range r.count() {
			if !yield(at, r.row(at)) {
				return
			}
		}
	}
}

// size returns the number of bytes that rows take in memory.
func size(r rows) int64 { return 8*int64(cap(r.values)) + 16*int64(cap(r.kept)) + r.bytes }

// maxValue is the largest absolute value whose squares, summed over all columns, are finite.
const maxValue = 1e100

// reader returns a function that adds a record to rows.
func reader(p Params, columns []string) (func(*rows, *dataset.Record) error, error) {
	used, kept := p.used(columns), len(names(p.Keep))
	return func(r *rows, record *dataset.Record) error {
		before := len(r.values)
		for i, name := range used {
			value, err := record.Float(i)
			if err == nil && !(math.Abs(value) <= maxValue) {
				err = fmt.Errorf("column %q is %v: want a number from -1e100 to 1e100", name, value)
			}
			if err != nil {
				r.values = r.values[:before]
				return err
			}
			r.values = append(r.values, value+0) // -0 becomes 0, so that equal rows have equal bits
		}
		r.names = used
		for i := range kept {
			text := string(record.Field(len(used) + i))
			r.kept = append(r.kept, text)
			r.bytes += int64(len(text))
		}
		return nil
	}, nil
}

// used returns the columns that a job uses as numbers, if its input has the given columns.
func (p Params) used(columns []string) []string {
	if list := names(p.Columns); len(list) > 0 {
		return list
	}
	return columns
}

package glm

import (
	"context"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
)

// Definition is the definition of the job glm.
var Definition = dataset.DefineRounds(dataset.Rounds[Params, []float64, state, partial, Result]{
	Name: "glm", Version: "1", Summary: "linear, logistic or Poisson regression of a column on others", Measure: "deviance",
	Defaults: Params{Input: dataset.Defaults(), Family: "linear", Intercept: true, Rounds: 50, Tolerance: 1e-8},
	Columns:  func(p Params) []string { return append(p.predictors(), p.Target) },
	Open: func(p Params, _ []string) (func(rows *[]float64, r *dataset.Record) error, error) {
		return newReader(p).read, nil
	},
	Size:      func(rows []float64) int64 { return 8 * int64(cap(rows)) },
	Start:     func(_ context.Context, p Params) (state, error) { return state{Model: p.model()}, nil },
	Continue:  func(_ context.Context, p Params, earlier state) (state, error) { return earlier.again(p) },
	Map:       compute,
	Merge:     merge,
	Next:      next,
	MaxRounds: func(p Params) uint64 { return p.Rounds },
	Finish:    finish,
})

// reader reads rows: the values of the predictors and the target.
type reader struct {
	names  []string
	refuse func(target float64) (want string)
	row    []float64
}

func newReader(p Params) *reader {
	names := append(p.predictors(), p.Target)
	return &reader{names, familyOf(p.Family).refuse, make([]float64, len(names))}
}

// largest is the magnitude up to which the squares of values and their sums are finite. The squares of their inverses
// are too.
const largest = 1e100

func (r *reader) read(rows *[]float64, record *dataset.Record) error {
	for i := range r.row {
		v, err := record.Float(i)
		if err != nil {
			return err
		}
		want := ""
		if !(v >= -largest && v <= largest) {
			want = fmt.Sprintf("a number from -%g to %g", largest, largest)
		} else if i == len(r.row)-1 {
			want = r.refuse(v)
		}
		if want != "" {
			return fmt.Errorf("column %q is %q: want %s", r.names[i], record.Field(i), want)
		}
		r.row[i] = v
	}
	*rows = append(*rows, r.row...)
	return nil
}

// adder computes the sums of a round over rows.
type adder interface {
	add(rows []float64)
	end() partial
}

// rowsBetween is the number of rows between two checks of the context.
const rowsBetween = 10_000

// compute computes the partial of a partition.
func compute(ctx context.Context, p Params, s state, _ dataset.Place, rows []float64) (partial, error) {
	f, columns := familyOf(p.Family), len(p.predictors())
	var sums adder
	if s.Overview == nil {
		sums = newSurvey(f, columns)
	} else {
		sums = newPass(f, s.Overview.Columns, s.Beta)
	}
	for len(rows) > 0 {
		if ctx.Err() != nil {
			return partial{}, context.Cause(ctx)
		}
		n := min(len(rows), rowsBetween*(columns+1))
		sums.add(rows[:n])
		rows = rows[n:]
	}
	return sums.end(), nil
}

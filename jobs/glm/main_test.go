package glm

import (
	"context"
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// params returns the parameters of a model whose tolerance leaves no digits to the last step.
func params(family, target, columns string) Params {
	p := Definition.Defaults
	p.Family, p.Target, p.Columns, p.Tolerance = family, target, columns, 1e-13
	return p
}

// rowsOf returns the rows of a CSV file in the form that survey and pass want.
func rowsOf(t *testing.T, name string, p Params) (rows []float64) {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	position := map[string]int{}
	for i, column := range list[0] {
		position[column] = i
	}
	for _, record := range list[1:] {
		for _, column := range append(p.predictors(), p.Target) {
			v, err := strconv.ParseFloat(record[position[column]], 64)
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, v)
		}
	}
	return rows
}

// fitRows fits a model to rows that are cut into partitions of some rows each.
func fitRows(p Params, rows []float64, each int) (Result, error) {
	var s state
	width := len(p.predictors()) + 1
	for round := uint64(1); ; round++ {
		var total *partial
		for from := 0; from < len(rows); from += each * width {
			part, err := compute(context.Background(), p, s, dataset.Place{}, rows[from:min(len(rows), from+each*width)])
			if err != nil {
				return Result{}, err
			}
			if total == nil {
				total = &part
				continue
			}
			merged, err := merge(*total, part)
			if err != nil {
				return Result{}, err
			}
			total = &merged
		}
		step, err := next(context.Background(), p, s, *total, round)
		if err != nil {
			return Result{}, err
		}
		if s = step.State; step.Done || round == p.Rounds {
			return finish(context.Background(), p, s, dataset.Totals{})
		}
	}
}

// near reports whether a number has the wanted number of correct digits.
func near(got, want float64, digits int) bool {
	return math.Abs(got-want) <= math.Pow(10, -float64(digits))*math.Abs(want)
}

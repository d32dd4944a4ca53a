package dataset_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
)

// warmParams are the parameters of the job warm: those of every dataset job, and one more.
type warmParams struct {
	dataset.Input
	Above float64 `json:"above" min:"-90" max:"60" help:"count the days that are warmer than this, in °C"`
}

// warm is a job that counts the records whose temperature is above a limit. Open replaces Fold,
// because folding a record depends on a parameter.
var warm = dataset.Job[warmParams, map[string]int, map[string]int]{
	Name: "warm", Version: "1", Summary: "number of warm days by station",
	Defaults: warmParams{Input: dataset.Defaults(), Above: 25},
	Columns:  func(warmParams) []string { return []string{"station", "temperature"} },
	Start:    func() map[string]int { return map[string]int{} },
	Open: func(p warmParams, _ []string) (func(acc *map[string]int, r *dataset.Record) error, error) {
		return func(acc *map[string]int, r *dataset.Record) error {
			t, err := r.Float(1)
			if err == nil && t > p.Above {
				(*acc)[string(r.Field(0))]++
			}
			return err
		}, nil
	},
	Merge: func(left, right map[string]int) (map[string]int, error) {
		for station, n := range right {
			left[station] += n
		}
		return left, nil
	},
	Finish: func(_ context.Context, _ warmParams, acc map[string]int, _ dataset.Totals) (map[string]int, error) {
		return acc, nil
	},
}

// Example_parameter runs a job with a parameter in addition to the parameters of its input.
func Example_parameter() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	text := "station,temperature\nOslo,2.5\nLima,19.0\nOslo,21.5\nLima,24.5\n"
	if err := os.WriteFile(filepath.Join(folder, "a.csv"), []byte(text), 0o666); err != nil {
		fmt.Println(err)
		return
	}
	job := jobs.MustNew(dataset.Define(warm))
	params, err := job.Params(nil, "input="+folder+"/*.csv", "above=18.5")
	if err != nil {
		fmt.Println(err)
		return
	}
	done, err := jobs.Local{Grant: jobs.Grant{Files: []string{folder}}}.Run(context.Background(), job, params)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", done.Result)
	// Output:
	// {"Lima":2,"Oslo":1}
}

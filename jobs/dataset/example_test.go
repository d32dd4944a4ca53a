package dataset_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
)

// tally is an accumulator: the sum and the number of values.
type tally struct {
	Sum   float64
	Count int64
}

// means is a job that computes the mean of one column for each value of another column.
var means = dataset.Job[dataset.Input, map[string]tally, map[string]float64]{
	Name: "mean", Version: "1", Summary: "mean temperature by station",
	Defaults: dataset.Defaults(),
	Columns:  func(dataset.Input) []string { return []string{"station", "temperature"} },
	Start:    func() map[string]tally { return map[string]tally{} },
	Fold: func(acc *map[string]tally, r *dataset.Record) error {
		t, err := r.Float(1)
		if err != nil {
			return err
		}
		m := (*acc)[string(r.Field(0))]
		(*acc)[string(r.Field(0))] = tally{m.Sum + t, m.Count + 1}
		return nil
	},
	Merge: func(left, right map[string]tally) (map[string]tally, error) {
		for station, r := range right {
			l := left[station]
			left[station] = tally{l.Sum + r.Sum, l.Count + r.Count}
		}
		return left, nil
	},
	Finish: func(_ context.Context, _ dataset.Input, acc map[string]tally, _ dataset.Totals) (map[string]float64, error) {
		result := map[string]float64{}
		for station, m := range acc {
			result[station] = m.Sum / float64(m.Count)
		}
		return result, nil
	},
}

// Example runs a complete job over records in this process. To run the job on a cluster, the main
// function of a program is
//
//	func main() { cli.Main(jobs.MustNew(dataset.Define(means))) }
//
// The command for a run on the cluster is: submit mean -p 'input=/data/*.csv'.
func Example() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	text := "station,temperature\nOslo,2.5\nLima,19.0\nOslo,3.5\n\"Washington, D.C.\",11.25\n"
	if err := os.WriteFile(filepath.Join(folder, "a.csv"), []byte(text), 0o666); err != nil {
		fmt.Println(err)
		return
	}
	job := jobs.MustNew(dataset.Define(means))
	params, err := job.Params(nil, "input="+folder+"/*.csv", "block=10")
	if err != nil {
		fmt.Println(err)
		return
	}
	done, err := jobs.Local{Slots: 2, Grant: jobs.Grant{Files: []string{folder}}}.Run(context.Background(), job, params)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d partitions: %s\n", done.Partitions, done.Result)
	// Output:
	// 8 partitions: {"Lima":19,"Oslo":3,"Washington, D.C.":11.25}
}

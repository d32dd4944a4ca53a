package work_test

import (
	"context"
	"testing"

	"github.com/bellwether-compute/bellwether/bench/peers/work"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/montecarlo"
	"github.com/bellwether-compute/bellwether/jobs/probe"
)

const tasks = 1000

var kinds = map[string]work.Work{"empty": {}, "simulate": {Paths: 50}}

func right(t *testing.T, w work.Work, n uint64) work.Sum {
	t.Helper()
	sum, err := w.Right(t.Context(), n, 3)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// TestJobHasTheSameSum checks that the sum in the job's result equals the sum of the tasks.
func TestJobHasTheSameSum(t *testing.T) {
	known := map[string]jobs.Job{"probe": jobs.MustNew(probe.Definition), "montecarlo": jobs.MustNew(montecarlo.Definition)}
	for name, w := range kinds {
		job, pairs := w.Job(tasks)
		params, err := known[job].Params(nil, pairs...)
		if err != nil {
			t.Fatal(err)
		}
		done, err := jobs.Local{Slots: 2}.Run(context.Background(), known[job], params)
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.Result(tasks, done.Result)
		if err != nil {
			t.Fatal(err)
		}
		if err := got.Check(right(t, w, tasks)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCheckFindsWhatIsWrong checks that Check finds a missing task, a repeated task, and a task
// that replaced another task.
func TestCheckFindsWhatIsWrong(t *testing.T) {
	for name, w := range kinds {
		want := right(t, w, tasks)
		for what, wrong := range map[string]map[uint64][]uint64{
			"nothing":                    {},
			"a task left out":            {5: {}},
			"a task twice":               {5: {5, 5}},
			"a task in place of another": {5: {6}},
			"tasks exchanged":            {5: {6}, 6: {5}},
		} {
			c, err := w.Open(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			for task := range uint64(tasks) {
				instead, found := wrong[task]
				if !found {
					instead = []uint64{task}
				}
				for _, task := range instead {
					if err := c.Do(t.Context(), task); err != nil {
						t.Fatal(err)
					}
				}
			}
			got, err := c.Sum()
			if err != nil {
				t.Fatal(err)
			}
			harmless := what == "nothing" || what == "tasks exchanged"
			if err := got.Check(want); (err == nil) != harmless {
				t.Errorf("%s tasks, %s: got %v", name, what, err)
			}
		}
	}
}

package worker_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/kmeans"
	"github.com/bellwether-compute/bellwether/worker"
)

// TestKMeansOnWorkers runs the job kmeans on 1, 2, 3 and 8 workers with other block sizes. All results have the bytes of
// a run in one process.
func TestKMeansOnWorkers(t *testing.T) {
	t.Parallel()
	file, err := filepath.Abs("../jobs/kmeans/testdata/iris.csv")
	if err != nil {
		t.Fatal(err)
	}
	grant := jobs.Grant{Files: []string{filepath.Dir(file)}}
	job := jobs.MustNewRounds(kmeans.Definition)
	pairs := []string{"input=" + file, "k=4", "columns=sepal_length,sepal_width,petal_length,petal_width", "tolerance=0", "seed=3"}
	params, err := job.Params(nil, pairs...)
	if err != nil {
		t.Fatal(err)
	}
	want, err := jobs.Local{Slots: 1, Attempts: 1, Grant: grant}.Run(t.Context(), job, params)
	if err != nil {
		t.Fatal(err)
	}
	c := newCluster(t)
	started := 0
	for _, workers := range []int{1, 2, 3, 8} {
		for ; started < workers; started++ {
			c.start(func(cfg *worker.Config) { cfg.Jobs, cfg.Grant = []jobs.Job{job}, grant })
		}
		if got := c.result(job, append(pairs, fmt.Sprint("block=", 100*workers))...); got != string(want.Result) {
			t.Errorf("%d workers: got %s, want %s", workers, got, want.Result)
		}
	}
}

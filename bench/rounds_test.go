package bench

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/kmeans"
)

// TestLoopOfRounds compares the loop with the job kmeans in this process.
func TestLoopOfRounds(t *testing.T) {
	c := RoundsConfig{File: filepath.Join(t.TempDir(), "points.csv"), Rows: 5000, Columns: 3, K: 6, Moves: 4, Progress: func(string, uint64, uint64) {}}
	points, err := c.write(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	job := jobs.MustNewRounds(kmeans.Definition)
	local := jobs.Local{Slots: 2, Attempts: 1, Grant: jobs.Grant{Files: []string{"/"}}}
	run := func(rounds string) clusters {
		params, err := job.Params(nil, "input="+c.File, "k=6", "tolerance=0", rounds)
		if err != nil {
			t.Fatal(err)
		}
		done, err := local.Run(t.Context(), job, params)
		if err != nil {
			t.Fatal(err)
		}
		r, err := clustersOf(done.Result)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	want := run("rounds=4").inertia
	if got, err := c.loop(t.Context(), points, run("rounds=1").centres); err != nil || math.Abs(got-want) > 1e-9*want {
		t.Errorf("the loop has an inertia of %v, error %v, the job of %v", got, err, want)
	}
	if err := c.remove(); err != nil {
		t.Error(err)
	}
	if err := c.remove(); err != nil {
		t.Errorf("remove a file that is not there: %v", err)
	}
}

// TestRoundsConfig checks that a configuration that measures nothing is refused.
func TestRoundsConfig(t *testing.T) {
	_, err := Rounds(t.Context(), RoundsConfig{})
	if err == nil || !strings.Contains(err.Error(), "configure rounds benchmark: Clusters") {
		t.Errorf("got error %v", err)
	}
}

package bench

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/glm"
	"github.com/bellwether-compute/bellwether/jobs/kmeans"
)

// TestLoopOfRounds compares the loop with the job kmeans in this process.
func TestLoopOfRounds(t *testing.T) {
	c := RoundsConfig{Dir: t.TempDir(), Rows: 5000, Columns: 3, K: 6, Moves: 4, Progress: func(string, uint64, uint64) {}}
	points, err := c.points(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	job := jobs.MustNewRounds(kmeans.Definition)
	local := jobs.Local{Slots: 2, Attempts: 1, Grant: jobs.Grant{Files: []string{"/"}}}
	run := func(rounds string) clusters {
		params, err := job.Params(nil, "input="+points.name, "k=6", "tolerance=0", rounds)
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
	if got, err := c.loop(t.Context(), points.numbers, run("rounds=1").centres); err != nil || math.Abs(got-want) > 1e-9*want {
		t.Errorf("the loop has an inertia of %v, error %v, the job of %v", got, err, want)
	}
	if err := remove(points.name); err != nil {
		t.Error(err)
	}
	if err := remove(points.name); err != nil {
		t.Errorf("remove a file that is not there: %v", err)
	}
}

// TestLoopOfRegression compares the loop with the job glm in this process.
func TestLoopOfRegression(t *testing.T) {
	c := RoundsConfig{Dir: t.TempDir(), ModelRows: 3000, ModelColumns: 4, Progress: func(string, uint64, uint64) {}}
	rows, err := c.model(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	job := jobs.MustNewRounds(glm.Definition)
	params, err := job.Params(nil, c.modelPairs(rows.name)...)
	if err != nil {
		t.Fatal(err)
	}
	done, err := jobs.Local{Slots: 2, Grant: jobs.Grant{Files: []string{"/"}}}.Run(t.Context(), job, params)
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Deviance   float64
		Iterations int
	}
	if err := json.Unmarshal(done.Result, &want); err != nil {
		t.Fatal(err)
	}
	passes := want.Iterations + 1
	if got, err := c.fit(t.Context(), rows.numbers, passes); err != nil || math.Abs(got-want.Deviance) > 1e-9*got {
		t.Errorf("the loop has a deviance of %v after %d passes, error %v, the job of %v", got, passes, err, want.Deviance)
	}
}

// TestLoopOfLargeStates compares the loop with the job in this process.
func TestLoopOfLargeStates(t *testing.T) {
	p := LargeParams{Length: 1000, Rounds: 5}
	job := jobs.MustNewRounds(LargeRounds)
	params, err := job.Params(nil, "length=1000", "rounds=5")
	if err != nil {
		t.Fatal(err)
	}
	done, err := jobs.Local{Slots: 2}.Run(t.Context(), job, params)
	if err != nil {
		t.Fatal(err)
	}
	var want VectorResult
	if err := json.Unmarshal(done.Result, &want); err != nil {
		t.Fatal(err)
	}
	if got, _, err := largeLoop(t.Context(), p); err != nil || got != want {
		t.Errorf("the loop ends with %+v, error %v, the job with %+v", got, err, want)
	}
}

// TestRoundsConfig checks that a configuration that measures nothing is refused.
func TestRoundsConfig(t *testing.T) {
	_, err := Rounds(t.Context(), RoundsConfig{})
	if err == nil || !strings.Contains(err.Error(), "configure rounds benchmark: Clusters") {
		t.Errorf("got error %v", err)
	}
}

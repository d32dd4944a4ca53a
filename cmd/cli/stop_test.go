package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
)

// stopAnswer contains the parts of the JSON output of status, result and run that the tests of stops read.
type stopAnswer struct {
	State     string             `json:"state"`
	Epochs    []uint64           `json:"epochs"`
	Done      uint64             `json:"done"`
	SHA256    string             `json:"sha256"`
	Executed  uint64             `json:"executed"`
	Repeated  uint64             `json:"repeated"`
	Estimates []client.Estimated `json:"estimates"`
	Stopped   *client.Stopped    `json:"stopped"`
}

// awaitStop waits until a job has ended, and returns its result.
func (c *testCluster) awaitStop(id string) (got stopAnswer) {
	c.t.Helper()
	c.until("the job has ended", func() bool {
		c.do(&got, "status", id)
		return got.State == "completed" || got.State == "failed"
	})
	c.do(&got, "result", id)
	return got
}

// TestLeaderIsKilledBeforeAStop kills the leader while the rung before the stop is judged. Until then the first
// partition does not end, so that partitions far above the stop are finished earlier. The job must stop at the same
// prefix, and with the same bytes, as a run in one process.
func TestLeaderIsKilledBeforeAStop(t *testing.T) {
	onEachStorage(t, func(t *testing.T, on testStorage) {
		c := newTestCluster(t, on, workers)
		params := []string{"n=4000", "width=10", "stop=25"}
		first := filepath.Join(t.TempDir(), "first")
		id := c.submitHeld(append(params, "sleep=5ms", "first="+first)...)
		c.awaitDone(id, 100)
		create(t, first)
		c.until("the rung two before the stop is judged", func() bool {
			var s stopAnswer
			c.do(&s, "status", id)
			last := len(s.Estimates) - 1
			return last >= 0 && s.Estimates[last].Partitions == 20
		})
		c.kill(c.process(c.leader().PID))
		create(t, c.release)
		got := c.awaitStop(id)
		var want stopAnswer
		c.do(&want, c.jobArgs("run", params)...)
		if got.Stopped == nil || want.Stopped == nil || *got.Stopped != *want.Stopped || got.SHA256 != want.SHA256 {
			t.Errorf("%s: stopped %+v with SHA-256 %s, run stops %+v with %s", got.State, got.Stopped, got.SHA256, want.Stopped, want.SHA256)
		}
		if want.Stopped == nil || want.Stopped.At != 28 || len(got.Epochs) < 2 {
			t.Errorf("run stops %+v, want 28; epochs %v, want at least two", want.Stopped, got.Epochs)
		}
		if got.Executed < 28 || got.Repeated != got.Executed-28 {
			t.Errorf("executed %d and repeated %d do not match 28 partitions", got.Executed, got.Repeated)
		}
	})
}

// TestStopAfter ends jobs when their time is up, on a cluster and in one process.
func TestStopAfter(t *testing.T) {
	c := newTestCluster(t, onJetStream, 1)
	params := []string{"n=1000000000", "sleep=1ms", "stop=1000000000"}
	var submitted struct {
		ID string `json:"id"`
	}
	c.do(&submitted, append(c.jobArgs("submit", params), "--stop-after", "1s")...)
	var local stopAnswer
	c.do(&local, append(c.jobArgs("run", params), "--stop-after", "1s")...)
	for name, got := range map[string]stopAnswer{"cluster": c.awaitStop(submitted.ID), "run": local} {
		s := got.Stopped
		if got.State != "completed" || s == nil || !s.Timed || s.At == 0 {
			t.Fatalf("%s: the job is %s, stopped %+v", name, got.State, s)
		}
	}
	if _, out, _ := c.run("list"); !strings.Contains(out, "100%") {
		t.Errorf("list: got %s, want 100%% of what the stopped job needs", out)
	}
	where := cluster.Config{Name: c.cluster}
	where.NATS.URL = c.url
	fleet, err := client.Connect(t.Context(), client.Config{Cluster: where})
	if err != nil {
		t.Fatal(err)
	}
	defer fleet.Close()
	page, err := fleet.Page(t.Context(), client.Query{Show: client.ShowEnded, Limit: 10})
	if err != nil || len(page.Jobs) != 1 || page.Jobs[0].Needed != page.Jobs[0].Done || page.Jobs[0].Needed >= page.Jobs[0].Partitions {
		t.Errorf("page of jobs: got %+v, %v", page.Jobs, err)
	}
	for _, command := range []string{"submit", "run"} {
		status, _, errs := c.run(append(c.jobArgs(command, nil), "--stop-after", "1s")...)
		if status != 2 || !strings.Contains(errs, "neither estimates nor rounds") {
			t.Errorf("%s of a job without estimates: status %d, %s", command, status, errs)
		}
	}
}

func create(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

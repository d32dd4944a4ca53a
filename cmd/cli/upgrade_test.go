package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/deploy/local/procs"
	"github.com/bellwether-compute/bellwether/jobs"
)

// nextSquares is a version of the job squares that only the next program knows.
var nextSquares = func() jobs.Job {
	next := squares
	next.Version = "2"
	return jobs.MustNew(next)
}()

// TestRollingUpgrade replaces the workers one by one with workers of a program that also knows
// another version of the job. The running job loses no work during the upgrade. A job of the new
// version waits, its status reports the reason, and it begins when a worker knows the version.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	const fleet = 3
	c := newTestCluster(t, onJetStream, fleet)
	params := []string{"n=10000", "width=10", "sleep=20ms"}
	running := c.submitHeld(params...)
	c.awaitDone(running, 1)
	waiting := c.submitNext(jobParams...)
	c.until("status says what the new version waits for", func() bool {
		var s struct{ State, Trouble string }
		c.do(&s, "status", waiting)
		return s.State == "queued" && strings.Contains(s.Trouble, "no worker knows squares version 2: start workers")
	})

	program, err := exec.LookPath("bellwether-next") // testscript.Main has installed the program
	if err != nil {
		t.Fatal(err)
	}
	next := procs.New(procs.Config{
		Program: program,
		Args:    append([]string{"worker", "--with-parent", "--slots", "1", "--log-format", "text"}, c.flags...),
		Env:     []string{"BELLWETHER_NATS_URL=" + c.url, "BELLWETHER_CLUSTER=" + c.cluster},
		Output:  c.output,
		Logger:  slog.New(slog.NewTextHandler(c.output, nil)),
	})
	t.Cleanup(func() { next.Stop(30*time.Second, nil) })
	for _, old := range c.Running() {
		if _, err := next.Start(); err != nil {
			t.Fatal(err)
		}
		c.awaitWorkers(fleet + 1)
		old.Signal(syscall.SIGTERM)
		if err := old.Wait(); err != nil {
			t.Errorf("%s was told to stop and ended with %v", old.Name(), err)
		}
		c.awaitWorkers(fleet)
	}

	for id, params := range map[string][]string{running: params, waiting: jobParams} {
		c.wantOnce(c.finish(id, params...))
	}
}

// TestLeaderOfTheOldProgram adds a worker that knows a new version of the job. The leader does not
// know the new version, but leads the job once the worker has joined.
func TestLeaderOfTheOldProgram(t *testing.T) {
	t.Parallel()
	c := newTestCluster(t, onJetStream, 2)
	program, err := exec.LookPath("bellwether-next")
	if err != nil {
		t.Fatal(err)
	}
	waiting := c.submitNext(jobParams...)
	next := exec.Command(program, "worker", "--slots", "1", "--nats", c.url, "--cluster", c.cluster)
	next.Stderr = c.output
	if err := next.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = next.Process.Kill(); _ = next.Wait() })
	c.finish(waiting, jobParams...)
	for tries := 1; c.leader().PID == next.Process.Pid; tries++ { // the old leader was silent, as on a machine that stalls
		if tries == 3 {
			t.Fatalf("the new program leads at the end of each of %d jobs", tries)
		}
		var after leaderAnswer
		c.do(&after, "leader", "step-down")
		c.finish(c.submitNext(jobParams...), jobParams...)
	}
}

// submitNext submits the job squares in the new version.
func (c *testCluster) submitNext(params ...string) string {
	c.t.Helper()
	var out, errs bytes.Buffer
	args := append(c.jobArgs("submit", params), "-o", "json", "--nats", c.url, "--cluster", c.cluster)
	if status := cli.Run(context.Background(), append(args, c.flags...), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, nextSquares); status != 0 {
		c.t.Fatalf("%v: status %d: %s", args, status, errs.String())
	}
	var answer struct{ ID string }
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		c.t.Fatal(fmt.Errorf("%w in %s", err, out.Bytes()))
	}
	return answer.ID
}

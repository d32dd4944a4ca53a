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

// nextSquares is the job squares in a version that only the next program knows.
var nextSquares = func() jobs.Job {
	next := squares
	next.Version = "2"
	return jobs.MustNew(next)
}()

// TestRollingUpgrade replaces the workers one by one with workers of a program that also
// knows another version of the job. The running job loses nothing. A job of the new version
// waits, its status says why, and it begins when a worker knows the version.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	const fleet = 3
	f := newTestFlock(t, onJetStream, fleet)
	params := []string{"n=10000", "width=10", "sleep=20ms"}
	running := f.submitHeld(params...)
	f.awaitDone(running, 1)
	waiting := f.submitNext(jobParams...)
	f.until("status says what the new version waits for", func() bool {
		var s struct{ State, Trouble string }
		f.do(&s, "status", waiting)
		return s.State == "queued" && strings.Contains(s.Trouble, "does not know squares version 2: start workers")
	})

	program, err := exec.LookPath("bellwether-next") // put there by testscript.Main
	if err != nil {
		t.Fatal(err)
	}
	next := procs.New(procs.Config{
		Program: program,
		Args:    append([]string{"worker", "--with-parent", "--slots", "1", "--log-format", "text"}, f.flags...),
		Env:     []string{"BELLWETHER_NATS_URL=" + f.url, "BELLWETHER_CLUSTER=" + f.cluster},
		Output:  f.output,
		Logger:  slog.New(slog.NewTextHandler(f.output, nil)),
	})
	t.Cleanup(func() { next.Stop(30*time.Second, nil) })
	for _, old := range f.Running() {
		if _, err := next.Start(); err != nil {
			t.Fatal(err)
		}
		f.awaitWorkers(fleet + 1)
		old.Signal(syscall.SIGTERM)
		if err := old.Wait(); err != nil {
			t.Errorf("%s was told to stop and ended with %v", old.Name(), err)
		}
		f.awaitWorkers(fleet)
	}

	for id, params := range map[string][]string{running: params, waiting: jobParams} {
		got := f.finish(id, params...)
		if got.Executed != got.Partitions {
			t.Errorf("job %s: executed %d of %d partitions", id, got.Executed, got.Partitions)
		}
	}
}

// TestLeaderMakesWayForTheNextProgram adds a worker that knows a new version of the job. The
// leader, which does not know it, hands over, so that a job of that version can begin.
func TestLeaderMakesWayForTheNextProgram(t *testing.T) {
	t.Parallel()
	f := newTestFlock(t, onJetStream, 2)
	program, err := exec.LookPath("bellwether-next")
	if err != nil {
		t.Fatal(err)
	}
	waiting := f.submitNext(jobParams...)
	next := exec.Command(program, "worker", "--slots", "1", "--nats", f.url, "--cluster", f.cluster)
	next.Stderr = f.output
	if err := next.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = next.Process.Kill(); _ = next.Wait() })
	f.finish(waiting, jobParams...)
	if leader := f.leader(); leader.PID != next.Process.Pid || leader.Epoch != 2 {
		t.Errorf("process %d leads under epoch %d, want %d and 2", leader.PID, leader.Epoch, next.Process.Pid)
	}
}

// submitNext submits the job squares in the new version.
func (f *testFlock) submitNext(params ...string) string {
	f.t.Helper()
	var out, errs bytes.Buffer
	args := append(f.jobArgs("submit", params), "-o", "json", "--nats", f.url, "--cluster", f.cluster)
	if status := cli.Run(context.Background(), append(args, f.flags...), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, nextSquares); status != 0 {
		f.t.Fatalf("%v: status %d: %s", args, status, errs.String())
	}
	var answer struct{ ID string }
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		f.t.Fatal(fmt.Errorf("%w in %s", err, out.Bytes()))
	}
	return answer.ID
}

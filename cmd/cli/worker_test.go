package cli_test

import (
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestWorkerFlags starts a worker process with the flags of package worker, and stops it with
// SIGTERM while a partition runs for longer than the drain timeout.
func TestWorkerFlags(t *testing.T) {
	t.Parallel()
	c := newTestCluster(t, onJetStream, 0)
	output := newTestOutput(t)
	worker := startWorker(t, output, "--nats", c.url, "--cluster", c.cluster, "--log-format", "text",
		"--http", "127.0.0.1:0", "--drain-timeout", "1s", "--watch-evictions", "--metadata-url", "http://127.0.0.1:1")
	address := output.await(serving)
	output.await(regexp.MustCompile(`msg="(Cannot watch for evictions)`))
	c.awaitWorkers(1)
	c.submit("n=1", "width=1", "sleep=1m")
	c.awaitBusy(address)
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		answer, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s: got status %d, want 200", path, answer.StatusCode)
		}
	}
	health := func(flags ...string) (status int, output string) {
		cmd := exec.Command("bellwether", append([]string{"health", "--http", address}, flags...)...)
		out, _ := cmd.CombinedOutput() // the test checks the exit status
		return cmd.ProcessState.ExitCode(), string(out)
	}
	if status, out := health("--reply-timeout", "1m", "-o", "json"); status != 0 || out != `{"ok":true,"reasons":[],"leads":true}`+"\n" {
		t.Errorf("health of a worker that leads: got status %d: %s", status, out)
	}
	sendSignal(t, worker, syscall.SIGSTOP)
	if status, out := health("--reply-timeout", "100ms"); status != 3 || !strings.Contains(out, "no worker answers on "+address) {
		t.Errorf("health of a worker that is suspended: got status %d: %s", status, out)
	}
	sendSignal(t, worker, syscall.SIGCONT)
	stopWorker(t, worker)
	output.await(regexp.MustCompile(`msg="(Stopping gracefully)" .*reason="signal: terminated"`))
	output.await(regexp.MustCompile(`level=(WARN) .*running=1`))
}

// TestSecondSignal stops a worker that drains for longer than the test. The second signal comes
// after duplicateWindow.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	c := newTestCluster(t, onJetStream, 0)
	output := newTestOutput(t)
	worker := startWorker(t, output, "--nats", c.url, "--cluster", c.cluster, "--log-format", "text", "--drain-timeout", "10m", "--http", "127.0.0.1:0")
	c.awaitWorkers(1)
	c.submit("n=1", "width=1", "sleep=1m")
	c.awaitBusy(output.await(serving))
	if err := worker.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	output.await(regexp.MustCompile(`msg="(Stopping gracefully)"`))
	c.until("a second signal ends the worker", func() bool { // a signal that comes too early is ignored
		_ = worker.Process.Signal(syscall.SIGTERM) // the process may have ended
		return strings.Contains(output.String(), "second signal")
	})
	if err := worker.Wait(); err == nil {
		t.Error("the worker ended with status 0 after a second signal")
	}
}

var serving = regexp.MustCompile(`msg="Serving health and metrics".* address=(\S+)`)

// awaitBusy waits until a slot of the worker runs a span, by the worker's own metrics: the leader
// lists a worker as busy before the span has reached it.
func (c *testCluster) awaitBusy(address string) {
	c.t.Helper()
	c.until("a slot of the worker runs a span", func() bool {
		answer, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			c.t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		metrics, err := io.ReadAll(answer.Body)
		if err != nil {
			c.t.Fatal(err)
		}
		return strings.Contains(string(metrics), "\nbellwether_slots_busy 1\n")
	})
}

func sendSignal(t *testing.T, worker *exec.Cmd, s syscall.Signal) {
	t.Helper()
	if err := worker.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// startWorker starts a worker process with one slot.
func startWorker(t *testing.T, output io.Writer, flags ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("bellwether", append([]string{"worker", "--cluster", "test", "--slots", "1"}, flags...)...)
	cmd.Stderr = output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

// stopWorker sends SIGTERM to a worker process, which must end with status 0.
func stopWorker(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("a worker that was asked to stop ended with %v", err)
	}
}

package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"syscall"
	"testing"
)

// TestHealth asks a worker how it is while there is no NATS server, once there is
// one, and never again after it has stopped.
func TestHealth(t *testing.T) {
	f := newTestFlock(t, onJetStream, 0)
	output := newTestOutput(t)
	lonely := startWorker(t, output, "--nats", "nats://127.0.0.1:1")
	address := output.await(servingLine)
	if status, h := getHealth(t, address, "/healthz"); status != http.StatusOK || !h.OK || !slices.Contains(h.Reasons, "not connected to NATS") {
		t.Errorf("healthz without NATS: got status %d, %+v", status, h)
	}
	if status, h := getHealth(t, address, "/readyz"); status != http.StatusServiceUnavailable || h.OK || !slices.Contains(h.Reasons, "not connected to NATS") {
		t.Errorf("readyz without NATS: got status %d, %+v", status, h)
	}
	stopWorker(t, lonely)

	output = newTestOutput(t)
	happy := startWorker(t, output, "--nats", f.url)
	address = output.await(servingLine)
	f.until("the worker is ready", func() bool {
		status, h := getHealth(t, address, "/readyz")
		return status == http.StatusOK && h.OK && len(h.Reasons) == 0 && h.Leads && h.Worker.Epoch == 1
	})
	if status, h := getHealth(t, address, "/healthz"); status != http.StatusOK || !h.OK {
		t.Errorf("healthz of a leader: got status %d, %+v", status, h)
	}
	stopWorker(t, happy)
	if _, err := http.Get("http://" + address + "/healthz"); err == nil {
		t.Error("the health server answers although its worker has stopped")
	}
}

type healthAnswer struct {
	OK      bool     `json:"ok"`
	Reasons []string `json:"reasons"`
	Leads   bool     `json:"leads"`
	Worker  struct {
		Epoch uint64 `json:"epoch"`
	} `json:"worker"`
}

func getHealth(t *testing.T, address, path string) (status int, h healthAnswer) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&h); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, h
}

// startWorker starts a worker that logs text and serves its health.
func startWorker(t *testing.T, output io.Writer, args ...string) *exec.Cmd {
	t.Helper()
	return startWorkerWith(t, output, append([]string{"--log-format", "text", "--http", "127.0.0.1:0"}, args...)...)
}

func startWorkerWith(t *testing.T, output io.Writer, args ...string) *exec.Cmd {
	t.Helper()
	args = append([]string{"worker", "--cluster", "test", "--slots", "1"}, args...)
	cmd := exec.Command("bellwether", args...)
	cmd.Stderr = output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

// stopWorker asks a worker to stop, which must end with status 0.
func stopWorker(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("a worker that was asked to stop ended with %v", err)
	}
}

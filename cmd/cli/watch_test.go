package cli_test

import (
	"os/exec"
	"regexp"
	"syscall"
	"testing"
)

// TestWaitWithoutWorkers checks that 'submit --wait' reports that there is no worker.
func TestWaitWithoutWorkers(t *testing.T) {
	t.Parallel()
	c := newTestCluster(t, onJetStream, 0)
	output := newTestOutput(t)
	cmd := exec.Command("bellwether", "submit", "squares", "--wait", "--queue", "--nats", c.url, "--cluster", c.cluster)
	cmd.Stderr = output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	output.await(regexp.MustCompile(`no worker of cluster ` + c.cluster + ` answers: .* with storage (jetstream); start one with 'bellwether worker'`))
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("got %v after an interrupt, want status 3", cmd.ProcessState)
	}
}

package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestDevRestartsADeadWorker kills a worker process of dev, which dev must restart, and then dev,
// whose workers must end.
func TestDevRestartsADeadWorker(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	output := newTestOutput(t)
	dev := exec.Command("bellwether", "dev", "--workers", "2", "--port", "0", "--data", t.TempDir(), "--cluster", "test", "-o", "json")
	dev.Stderr = output
	stdout, err := dev.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := dev.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = dev.Process.Kill()
		_ = dev.Wait()
	}()
	var greeting struct {
		NATS string `json:"nats"`
	}
	if err := json.NewDecoder(bufio.NewReader(stdout)).Decode(&greeting); err != nil {
		t.Fatalf("dev did not start: %v", err)
	}
	c := newCommander(t, greeting.NATS, "test", nil)
	c.awaitWorkers(2)
	before := c.pids()
	if err := syscall.Kill(before[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.until("another worker runs", func() bool {
		now := c.pids()
		return len(now) == 2 && now[0] != before[0] && now[1] != before[0]
	})

	workers := c.pids()
	if err := dev.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(patience)
	for _, pid := range workers {
		for alive(pid) {
			if time.Now().After(deadline) {
				t.Fatalf("worker process %d runs although dev has ended", pid)
			}
			time.Sleep(20 * time.Millisecond) // pause between two checks
		}
	}
}

// alive reports whether a process exists and is not a zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) || runtime.GOOS != "linux"
	}
	_, rest, _ := bytes.Cut(stat, []byte(") ")) // the process name before it may contain any characters
	return !bytes.HasPrefix(rest, []byte("Z"))
}

// pids returns the process IDs of the workers that the leader knows.
func (c *testCluster) pids() []int {
	c.t.Helper()
	var workers []struct {
		PID   int    `json:"pid"`
		State string `json:"state"`
	}
	c.do(&workers, "workers")
	var pids []int
	for _, w := range workers {
		if w.State == "idle" || w.State == "busy" {
			pids = append(pids, w.PID)
		}
	}
	return pids
}

package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/exec"
)

// programs is the job exec in the commands of a test.
var programs = jobs.MustNew(exec.Define(nil))

// TestWorkerWithCallsIsKilled kills a worker while it makes 100 calls, each of which has started a
// process in a session of its own. No process of these calls may survive, and the result must be that
// of a run in one process.
func TestWorkerWithCallsIsKilled(t *testing.T) {
	t.Parallel()
	const calls, partitions = 100, 300
	c := newTestCluster(t, onJetStream, 2, "--slots", fmt.Sprint(calls), "--allow", "exec")
	dir := t.TempDir()
	script := `echo part $BELLWETHER_PARTITION
[ -e $0/release ] && exit
worker=$PPID setsid sh -c 'touch '$0'/$worker-$$; exec sleep 1000' &
touch $0/$PPID-$$
until [ -e $0/release ]; do sleep 0.5; done`
	command, err := json.Marshal([]string{"sh", "-c", script, dir})
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"exec", "-p", "command=" + string(command), "-p", fmt.Sprint("partitions=", partitions)}
	var submitted struct {
		ID string `json:"id"`
	}
	c.do(&submitted, append([]string{"submit", "--no-check"}, args...)...)
	victim := c.others(c.leader().PID)[0]
	var marks []string
	c.until("the worker makes all calls", func() bool {
		marks, err = filepath.Glob(filepath.Join(dir, fmt.Sprint(victim.PID(), "-*")))
		if err != nil {
			t.Fatal(err)
		}
		return len(marks) == 2*calls
	})
	c.kill(victim)
	c.until("no process of the calls is left", func() bool {
		for _, mark := range marks {
			_, pid, _ := strings.Cut(filepath.Base(mark), "-")
			stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
			if err == nil && !strings.Contains(string(stat), ") Z ") {
				return false
			}
		}
		return true
	})
	if err := os.WriteFile(filepath.Join(dir, "release"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.until("the job has ended", func() bool {
		var s statusAnswer
		c.do(&s, "status", submitted.ID)
		return s.State != "queued" && s.State != "running"
	})
	var got, want outcomeAnswer
	c.do(&got, "result", submitted.ID)
	c.do(&want, append([]string{"run"}, args...)...)
	if got.State != "completed" || got.SHA256 != want.SHA256 || got.Repeated > calls {
		t.Errorf("%s: SHA-256 %s, repeated %d, %s; want SHA-256 %s", got.State, got.SHA256, got.Repeated, got.Error, want.SHA256)
	}
}

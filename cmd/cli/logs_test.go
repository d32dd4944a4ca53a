package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type logLine struct {
	Source, Worker, Text string
	Partition            *uint64
	Attempt              int
}

// TestLogsOutliveWorkers kills a worker and a leader while a job's program runs. What the program has written on the
// worker that died, and the events of the leader that died, must be there afterwards.
func TestLogsOutliveWorkers(t *testing.T) {
	onEachStorage(t, func(t *testing.T, on testStorage) {
		c := newTestCluster(t, on, 3, "--slots", "1", "--allow", "exec")
		release := filepath.Join(t.TempDir(), "release")
		command, err := json.Marshal([]string{"sh", "-c", `echo "begins $BELLWETHER_PARTITION" >&2; until [ -e $0 ]; do sleep 0.1; done; echo x`, release})
		if err != nil {
			t.Fatal(err)
		}
		var submitted struct{ ID string }
		c.do(&submitted, "submit", "exec", "--no-check", "-p", "partitions=6", "-p", "command="+string(command))
		logs := func() (lines []logLine) {
			status, out, errs := c.run("logs", submitted.ID, "-o", "json")
			if status != 0 {
				t.Fatalf("logs: %s", errs)
			}
			for line := range strings.Lines(out) {
				var l logLine
				if err := json.Unmarshal([]byte(line), &l); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				lines = append(lines, l)
			}
			return lines
		}
		event := func(text string) bool {
			var list []struct{ Text string }
			c.do(&list, "events", submitted.ID)
			for _, e := range list {
				if strings.Contains(e.Text, text) {
					return true
				}
			}
			return false
		}
		c.until("three workers have logged", func() bool { return len(logs()) == 3 })
		victim := c.others(c.leader().PID)[0]
		c.kill(victim)
		c.until("the event of the death", func() bool { return event("assigned to it: partition") })
		c.kill(c.process(c.leader().PID))
		if err := os.WriteFile(release, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		var ended []struct{ State string }
		c.do(&ended, "wait", submitted.ID)
		c.until("the leaders' events", func() bool {
			return event("assigned to it: partition") && event(" continues the job") && event("Job completed")
		})
		c.until("the lines of all partitions", func() bool {
			workers := map[uint64]map[string]bool{}
			twice := false
			for _, l := range logs() {
				if l.Source != "stderr" || l.Partition == nil || l.Text != "begins "+string('0'+rune(*l.Partition)) {
					t.Fatalf("line %+v", l)
				}
				if workers[*l.Partition] == nil {
					workers[*l.Partition] = map[string]bool{}
				}
				workers[*l.Partition][l.Worker] = true
				twice = twice || len(workers[*l.Partition]) > 1
			}
			return len(workers) == 6 && twice
		})
	})
}

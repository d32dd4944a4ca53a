package cli_test

import (
	"os"
	"testing"
)

// TestChainSurvivesLeaders kills the leader while each job of a chain runs.
func TestChainSurvivesLeaders(t *testing.T) {
	onEachStorage(t, func(t *testing.T, on testStorage) {
		c := newTestCluster(t, on, workers)
		submitAfter := func(id string) string {
			var answer struct {
				ID string `json:"id"`
			}
			c.do(&answer, append(c.jobArgs("submit", jobParams), "--after", id)...)
			return answer.ID
		}
		first := c.submitHeld(jobParams...)
		second := submitAfter(first)
		third := submitAfter(second)
		for _, id := range []string{first, second} {
			c.awaitDone(id, partitions/4)
			c.kill(c.process(c.leader().PID))
			if err := os.WriteFile(c.release, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var ended []struct{ State string }
		c.do(&ended, "wait", first, second, third)
		for i, job := range ended {
			if job.State != "completed" {
				t.Errorf("job %d is %s", i+1, job.State)
			}
		}
	})
}

// TestRetryKeepsWhatIsDone retries a job that was cancelled half-way.
func TestRetryKeepsWhatIsDone(t *testing.T) {
	onEachStorage(t, func(t *testing.T, on testStorage) {
		c := newTestCluster(t, on, workers)
		id := c.submitHeld(jobParams...)
		c.awaitDone(id, partitions/2)
		var answer struct{ ID string }
		c.do(&answer, "cancel", id)
		var old struct{ Done uint64 }
		c.do(&old, "status", id)
		if err := os.WriteFile(c.release, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		c.do(&answer, "retry", id)
		var ended []struct{ State string }
		c.do(&ended, "wait", answer.ID)
		var retried struct{ Executed, Partitions, Inherited uint64 }
		c.do(&retried, "status", answer.ID)
		if old.Done == 0 || retried.Inherited != old.Done || retried.Executed > retried.Partitions+workers {
			t.Errorf("executed %d of %d partitions, %d of them the old job's, which had done %d", retried.Executed, retried.Partitions, retried.Inherited, old.Done)
		}
	})
}

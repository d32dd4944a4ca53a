package term_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
)

// TestStorageErrorsDuringMergesFailNoJob lets a leader's calls for partials fail with a permanent
// error. The leader's term fails with the error, and the next leader completes the job.
func TestStorageErrorsDuringMergesFailNoJob(t *testing.T) {
	params := []string{"partitions=5", "pad=66_000"}
	for _, operation := range []memory.Operation{memory.Get, memory.Put} {
		t.Run(string(operation), func(t *testing.T) {
			c := newCluster(t)
			for _, id := range []string{"w1", "w2"} {
				c.addWorker(id)
			}
			c.fault = func(call memory.Call) error {
				if call.Operation == operation && strings.HasPrefix(call.Key, "partial/") {
					return errors.New("the disk of this machine is gone")
				}
				return nil
			}
			first := c.lead(plain)
			job := c.submit(params...)
			successor, left := "", false
			c.until("the leader to leave", func() bool {
				successor, left = first.term.Left()
				return left || c.manifest(job).State.Final()
			})
			if err := first.term.Err(); successor != "" || err == nil || !strings.Contains(err.Error(), "disk of this machine") {
				t.Errorf("the leader names the successor %q, and fails with %v", successor, err)
			}
			c.fault = nil
			first.kill()
			c.lead(plain)
			c.wantCompleted(job, localResult(t, params...))
		})
	}
}

// TestTooLargeForStorage lets storage refuse values because of their size. The job with the refused
// value fails, and the leader continues.
func TestTooLargeForStorage(t *testing.T) {
	for _, kind := range []string{"plan/", "partial/", "result/"} {
		t.Run(kind, func(t *testing.T) {
			c := newCluster(t)
			c.addWorker("w1")
			leader := c.lead(plain)
			c.fault = func(call memory.Call) error {
				if call.Operation == memory.Put && strings.HasPrefix(call.Key, kind) {
					return fmt.Errorf("%w: 5 TiB", store.ErrTooLarge)
				}
				return nil
			}
			job := c.submit("partitions=5", "pad=66_000")
			c.until("the end", func() bool { return c.manifest(job).State.Final() && c.cleanedUp() })
			if m := c.manifest(job); m.State != store.Failed || !strings.Contains(m.Error, "5 TiB") {
				t.Errorf("job is %s: %s; want it failed because of the size", m.State, m.Error)
			}
			if _, left := leader.term.Left(); left {
				t.Error("the leader stepped down")
			}
			c.fault = nil
			c.wantCompleted(c.submit("partitions=3"), localResult(t, "partitions=3"))
		})
	}
}

// TestCancelWhileStorageIsFull cancels a job that waits for space for a partial or for its result.
func TestCancelWhileStorageIsFull(t *testing.T) {
	for _, kind := range []string{"partial/", "result/"} {
		t.Run(kind, func(t *testing.T) {
			c := newCluster(t)
			c.addWorker("w1")
			c.lead(plain)
			refused := 0
			c.fault = func(call memory.Call) error {
				if call.Operation == memory.Put && strings.HasPrefix(call.Key, kind) {
					refused++
					return store.ErrFull
				}
				return nil
			}
			job := c.submit("partitions=5", "pad=66_000")
			c.until("there is no room", func() bool { return refused > 1 })
			answered := false
			var answer error
			c.leaders[0].turn(func() {
				c.leaders[0].term.Cancel(job, func(err error) { answered, answer = true, err })
			})
			c.until("the job is cleaned up", func() bool { return answered && c.cleanedUp() })
			if m := c.manifest(job); m.State != store.Cancelled || answer != nil {
				t.Errorf("job is %s: %s; answer %v", m.State, m.Error, answer)
			}
		})
	}
}

// TestRefusedForNoReason lets storage refuse every other conditional write although no other process
// has written. The leader finds what it wrote last, writes again, and the job completes in its term.
func TestRefusedForNoReason(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1")
	leader := c.lead(plain)
	job := c.submit("partitions=5", "pad=1_000")
	c.until("the plan", func() bool { return c.manifest(job).Partitions > 0 })
	writes := map[string]int{}
	c.fault = func(call memory.Call) error {
		kind, _, _ := strings.Cut(call.Key, "/")
		if call.Operation != memory.Put || kind != "manifest" && kind != "result" {
			return nil
		}
		writes[kind]++
		if writes[kind]%2 == 1 {
			return store.ErrConflict
		}
		return nil
	}
	c.wantCompleted(job, localResult(t, "partitions=5", "pad=1_000"))
	if err := leader.term.Err(); err != nil || writes["manifest"] < 2 || writes["result"] < 2 {
		t.Errorf("writes %v, and the term failed with %v", writes, err)
	}
}

package cli_test

import (
	"syscall"
	"testing"
)

// TestScaling changes the number of workers during a job as an autoscaler would, once to zero. No
// partition runs twice, and the result has the same bytes.
func TestScaling(t *testing.T) {
	t.Parallel()
	const all = 1000
	params := []string{"n=10000", "width=10", "sleep=60ms"} // takes one slot 60 s, and 12 slots 5 s, so a slow machine sees the job half done
	c := newTestCluster(t, onJetStream, 1)
	id := c.submitHeld(params...)
	c.awaitDone(id, all/50)
	c.scale(12)
	c.awaitDone(id, all/4)
	c.scale(3)
	c.awaitDone(id, all/2)
	c.scale(0)
	var checkpoint statusAnswer
	c.do(&checkpoint, "status", id)
	if checkpoint.Live || checkpoint.State != "running" || checkpoint.Done < all/2 {
		t.Errorf("without workers: live=%t, state=%s, %d partitions done", checkpoint.Live, checkpoint.State, checkpoint.Done)
	}
	c.scale(6)
	got := c.finish(id, params...)
	c.wantOnce(got)
	if n := c.repeatedBy(); n > int(got.Repeated) {
		t.Errorf("%d partitions were executed twice, of which %d were counted", n, got.Repeated)
	}
}

// scale starts workers, or stops the oldest workers, until n workers run, and waits until a leader
// knows all of them.
func (c *testCluster) scale(n int) {
	c.t.Helper()
	running := c.Running()
	if more := n - len(running); more >= 0 {
		c.add(more)
		return
	}
	leave := running[:len(running)-n]
	for _, p := range leave {
		p.Signal(syscall.SIGTERM)
	}
	for _, p := range leave {
		if err := p.Wait(); err != nil {
			c.t.Errorf("%s was told to stop and ended with %v", p.Name(), err)
		}
	}
	if n > 0 {
		c.awaitWorkers(n)
	}
}

package term_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// TestCheckpointOfManyPartials lets a leader write 4,000 partials that are too large for a manifest into
// a storage whose calls take 10 ms of simulated time. The writes are parallel, and their number is bounded.
func TestCheckpointOfManyPartials(t *testing.T) {
	const partials = 4_000
	c := newCluster(t)
	leader := c.lead(plain)
	job := c.planned("partitions=8000")
	most := 0
	c.fault = func(memory.Call) error {
		most = max(most, len(leader.tasks))
		return nil
	}
	began := c.now
	c.reportLeaves(leader, job, partials, strings.Repeat("x", 5_000))
	c.until("the checkpoint", func() bool { return len(c.manifest(job).Nodes) == partials })
	if took := c.now.Sub(began); took > 2*time.Second || most > 40 {
		t.Errorf("the checkpoint took %v with up to %d concurrent tasks, want at most 2 s with at most 40 tasks", took, most)
	}
}

// reportLeaves sends a report with the partials of every second partition of a job, so that none have siblings.
func (c *cluster) reportLeaves(l *leader, job string, leaves int, data string) {
	c.t.Helper()
	nodes := make([]engine.Node, leaves)
	for i := range nodes {
		nodes[i] = engine.Leaf(2 * uint64(i))
	}
	c.reportNodes(l, job, data, nodes...)
}

// reportNodes sends a report with partials of nodes of a job.
func (c *cluster) reportNodes(l *leader, job, data string, nodes ...engine.Node) {
	c.t.Helper()
	items := make([]wire.Item, len(nodes))
	for i, n := range nodes {
		p := wire.NewPartial(n, []byte(data))
		items[i] = wire.Item{Partial: &p}
	}
	answered := false
	l.turn(func() {
		l.term.Report(wire.Report{
			Epoch: l.epoch, Worker: fmt.Sprint("reporter", l.epoch), Sequence: 1, Hello: &wire.Hello{Host: "host", PID: 1, Slots: 1, Knows: []wire.JobKind{{Name: "letters", Version: "1"}}},
			Jobs: []wire.JobReport{{Job: job, First: 1, Items: items}},
		}, 100, func(wire.Receipt) { answered = true })
	})
	c.until("the receipt", func() bool { return answered })
}

// TestBlobsOfResumedNodesAreDeleted lets a worker report the parent of nodes that the leader has resumed. The blobs of these nodes
// are deleted when the parent is durable, and not at the job's end.
func TestBlobsOfResumedNodesAreDeleted(t *testing.T) {
	c := newCluster(t)
	data := strings.Repeat("x", 5_000)
	leader := c.lead(plain)
	job := c.planned("partitions=8")
	c.reportLeaves(leader, job, 2, data)
	c.until("a checkpoint", func() bool { return len(c.manifest(job).Nodes) == 2 })
	leader.kill()
	leader = c.lead(plain)
	c.reportNodes(leader, job, data, engine.Node{Level: 2})
	c.until("a checkpoint of the parent", func() bool { return len(c.manifest(job).Nodes) == 1 })
	c.until("deletions", func() bool { return len(c.partials()) == 1 })
}

// TestCheckpointOfManyPartialsIsInterrupted cancels a job while the leader waits for storage to write the
// job's partials, or after this leader has died. The job ends before the writes do, and no blob is left.
func TestCheckpointOfManyPartialsIsInterrupted(t *testing.T) {
	for _, dies := range []bool{false, true} {
		c := newCluster(t)
		leader := c.lead(plain)
		job := c.planned("partitions=8000")
		held, over, answered := 0, false, false
		c.fault = func(call memory.Call) error {
			if call.Operation == memory.Put && !call.Done && strings.HasPrefix(call.Key, "partial/") && c.running.leader == c.leaders[0] && len(c.partials()) > 40 {
				held++
				c.wait(func() bool { return over })
			}
			return nil
		}
		c.reportLeaves(leader, job, 4_000, strings.Repeat("x", 5_000))
		c.until("slow writes of blobs", func() bool { return held > 0 })
		if dies {
			leader.kill()
			leader = c.lead(plain)
		}
		leader.turn(func() {
			leader.term.Cancel(job, func(err error) {
				if answered = true; err != nil {
					t.Error(err)
				}
			})
		})
		c.until("the end", func() bool { return answered })
		c.pass(500 * step)
		over = true
		c.until("the clean-up", c.cleanedUp)
		m, blobs := c.manifest(job), c.partials()
		if m.State != store.Cancelled || len(m.Nodes) > 0 || len(blobs) > 0 {
			t.Errorf("leader dies: %v: the job is %s with %d nodes in its manifest and %d blobs, want it cancelled without any", dies, m.State, len(m.Nodes), len(blobs))
		}
	}
}

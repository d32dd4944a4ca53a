package worker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/worker"
)

func twoSlots(cfg *worker.Config) { cfg.Slots = 2 }

// TestOutageOfNATS stops the NATS server, which is also the storage, twice in the middle of a job.
// Workers continue with their assigned work during the outage, and nothing is computed again.
func TestOutageOfNATS(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	c := newCluster(t)
	port := natstest.Port(t, c.server.URL())
	for range 3 {
		c.start(twoSlots)
	}
	const partitions = 12_000
	params := []string{fmt.Sprint("partitions=", partitions), "sleep=1ms"}
	id := c.submit(params...)
	for _, share := range []uint64{10, 3} {
		c.checkpoint(id, "a part of the job is durable", func(m store.Manifest) bool { return m.Executed > partitions/share })
		c.server.Shutdown()
		before := c.runs.Load()
		time.Sleep(700 * time.Millisecond) // length of the outage
		if c.runs.Load() == before && share == 10 {
			t.Error("no partition ran while NATS was away")
		}
		c.startNATS(port)
	}
	c.checkRuns(partitions, c.await(id, params...).Executed)
}

// TestManySmallJobs submits 200 jobs at once.
func TestManySmallJobs(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for range 2 {
		c.start(twoSlots)
	}
	const n = 200
	var ids []string
	began := time.Now()
	for range n {
		ids = append(ids, c.submit("partitions=3", "sleep=1ms"))
	}
	executed := uint64(0)
	for _, id := range ids {
		m := c.checkpoint(id, "job "+id+" has ended", func(m store.Manifest) bool { return m.State.Final() })
		if m.State != store.Completed {
			t.Errorf("job %s is %s: %s", id, m.State, m.Error)
		}
		executed += m.Executed
	}
	t.Logf("%.0f jobs/s from the first submission on", n/time.Since(began).Seconds())
	c.checkRuns(3*n, executed)
}

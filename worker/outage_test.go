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
	if m := c.await(id, params...); m.Executed != partitions || c.runs.Load() != partitions {
		t.Errorf("executed %d partitions, ran %d, want %d", m.Executed, c.runs.Load(), partitions)
	}
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
	for _, id := range ids {
		if m := c.checkpoint(id, "job "+id+" has ended", func(m store.Manifest) bool { return m.State.Final() }); m.State != store.Completed {
			t.Errorf("job %s is %s: %s", id, m.State, m.Error)
		}
	}
	t.Logf("%.0f jobs/s from the first submission on", n/time.Since(began).Seconds())
	if c.runs.Load() != 3*n {
		t.Errorf("ran %d partitions, want %d", c.runs.Load(), 3*n)
	}
}

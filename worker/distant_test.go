package worker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/faults"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/worker"
)

// distantProxy returns a proxy to the cluster's NATS server that delays all bytes in each direction.
func (c *testCluster) distantProxy(delay time.Duration) *faults.TCPProxy {
	c.t.Helper()
	proxy, err := faults.NewTCPProxy(strings.TrimPrefix(c.server.URL(), "nats://"))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			c.t.Error(err)
		}
	})
	proxy.Delay(delay)
	return proxy
}

// TestDistantNATS runs a job on two workers that are 600 ms away from the NATS server in each
// direction. The line also stalls for a second during the job.
func TestDistantNATS(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes about half a minute")
	}
	c := newCluster(t)
	proxy := c.distantProxy(600 * time.Millisecond)
	for range 2 {
		c.start(func(cfg *worker.Config) { cfg.Cluster.NATS.URL = "nats://" + proxy.Address() })
	}
	params := []string{"partitions=40", "sleep=200ms"}
	id := c.submit(params...)
	c.checkpoint(id, "the job is running", func(m store.Manifest) bool { return m.State == store.Running })
	proxy.Stall()
	time.Sleep(time.Second) // length of the stall
	proxy.Resume()
	c.await(id, params...)
}

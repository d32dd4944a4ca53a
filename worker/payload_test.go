package worker_test

import (
	"errors"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/worker"
)

// TestRefusesSmallMaxPayload runs a worker on a server that refuses the largest messages,
// from the start or after a reconnect.
func TestRefusesSmallMaxPayload(t *testing.T) {
	t.Parallel()
	small := server.Options{JetStream: true, StoreDir: t.TempDir(), MaxPayload: 512 << 10}
	large := small
	large.MaxPayload = 1 << 20
	squaresCluster := func(t *testing.T) *testCluster {
		c := &testCluster{t: t}
		c.job = jobs.MustNew(c.squares())
		return c
	}
	start := func(c *testCluster, options server.Options) *server.Server {
		s := natstest.StartOptions(t, options)
		c.cfg.NATS.URL = s.ClientURL()
		return s
	}
	ends := func(w *testWorker) {
		t.Helper()
		if err := <-w.ended; !errors.Is(err, cluster.ErrPayload) {
			t.Errorf("the worker ended with %v, want ErrPayload", err)
		}
		w.stopped = true
	}
	for _, kind := range []cluster.StorageKind{cluster.JetStream, cluster.Azure} {
		c := squaresCluster(t)
		s := start(c, small)
		ends(c.start(func(cfg *worker.Config) {
			cfg.Cluster.Storage = kind
			cfg.Cluster.Azure.ConnectionString = "UseDevelopmentStorage=true"
		}))
		natstest.Stop(s)
	}
	c := squaresCluster(t)
	s := start(c, large)
	w := c.start(nil)
	w.awaitReady()
	natstest.Stop(s)
	small.Port = natstest.Port(t, s.ClientURL())
	start(c, small)
	ends(w)
}

package worker_test

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/worker"
)

// TestLostStorage deletes the NATS server's data while a worker runs. The log says so and /healthz
// fails, and a client learns that workers must be restarted. A restarted worker leads.
func TestLostStorage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes about 20 seconds")
	}
	c := newCluster(t)
	short := func(cfg *worker.Config) { cfg.Lease = time.Second }
	w := c.start(short)
	w.awaitReady()
	address := w.address()
	if status, h := getHealth(t, address, "/healthz"); status != http.StatusOK {
		t.Fatalf("healthz before the loss: status %d, %v", status, h.Reasons)
	}

	port := natstest.Port(t, c.server.URL())
	c.server.Shutdown()
	if err := os.RemoveAll(c.dir); err != nil {
		t.Fatal(err)
	}
	c.startNATS(port)
	unhealthy := func() bool {
		status, h := getHealth(t, address, "/healthz")
		return status == http.StatusServiceUnavailable && !h.OK && strings.Contains(strings.Join(h.Reasons, ", "), "its data was lost or replaced")
	}
	until(t, "healthz says that the storage was replaced", unhealthy)
	w.logged(`msg="(Storage was replaced, restart this worker)"`)

	asks, err := client.Connect(t.Context(), client.Config{Cluster: c.cfg, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer asks.Close()
	if _, err := asks.Workers(t.Context()); !errors.Is(err, client.ErrNoLeader) || !errors.Is(err, client.ErrUnused) {
		t.Errorf("a client gets %v, want one that no worker has used the storage", err)
	}

	next := c.start(short)
	next.awaitReady()
	if !unhealthy() {
		t.Error("the first worker is healthy although another worker uses new storage")
	}
	until(t, "the leader on the other storage answers", func() bool {
		_, err := asks.Workers(t.Context())
		return err == nil
	})
}

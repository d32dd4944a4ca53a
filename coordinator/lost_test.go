package coordinator_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsjetstream "github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/coordinator"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
)

// An operator clears the queue in JetStream after a job was submitted. The leader sends the job's
// message again.
func TestClearedQueueOfJetStream(t *testing.T) {
	c := newCluster(t)
	c.nc = natstest.Connect(t, natstest.StartOptions(t, server.Options{JetStream: true}).ClientURL())
	driver, err := jetstream.Open(t.Context(), c.nc, jetstream.Config{Cluster: "test", HideFor: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	c.store = store.New(store.Config{Blobs: driver, Queue: driver})
	job := c.submit("partitions=100")
	js, err := natsjetstream.New(c.nc)
	if err != nil {
		t.Fatal(err)
	}
	cleared := uint64(0)
	for stream := range js.ListStreams(t.Context()).Info() {
		if stream.Config.Retention != natsjetstream.WorkQueuePolicy {
			continue
		}
		queue, err := js.Stream(t.Context(), stream.Config.Name)
		if err == nil {
			err = queue.Purge(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		cleared += stream.State.Msgs
	}
	if cleared != 1 {
		t.Fatalf("cleared %d messages, want the job's", cleared)
	}
	c.leadAs(1, func(cfg *coordinator.Config) { cfg.SearchEvery = 2 * time.Second })
	w := newWorker(c, "w1", digits)
	w.follow(1)
	w.reportUntilHeld()
	w.workUntilEnded(job)
	c.wantResult(job, "partitions=100")
}

package cli_test

import (
	"log/slog"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/azure"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
)

// TestPoisonedMessage sends an invalid message to the queue before a job. The message is
// poisoned, the job completes, and the message can be put back into the queue.
func TestPoisonedMessage(t *testing.T) {
	onEachStorage(t, func(t *testing.T, on testStorage) {
		c := newTestCluster(t, on, 0)
		if err := c.queue(on).Send(t.Context(), []byte("hello")); err != nil {
			t.Fatal(err)
		}
		id := c.submit("n=10")
		c.add(1)
		c.finish(id, "n=10")

		type entry struct {
			Name       string `json:"name"`
			Reason     string `json:"reason"`
			Deliveries int    `json:"deliveries"`
		}
		poisoned := func() (list []entry) {
			c.do(&list, "list", "--poison")
			return list
		}
		list := poisoned()
		if len(list) != 1 || list[0].Reason == "" || list[0].Deliveries != 1 {
			t.Fatalf("poison list: got %+v, want one entry with its reason", list)
		}
		var put struct{ Name string }
		for _, p := range c.Running() { // otherwise the workers would poison the message again
			c.kill(p)
		}
		c.do(&put, "requeue", list[0].Name)
		if put.Name != list[0].Name || len(poisoned()) != 0 {
			t.Errorf("requeued: got %q, and the poison list is %+v", put.Name, poisoned())
		}
		if status := c.ask(nil, "requeue", list[0].Name); status != 2 {
			t.Errorf("requeued twice: status %d, want 2", status)
		}
	})
}

// queue opens the cluster's queue.
func (c *testCluster) queue(on testStorage) store.Queue {
	c.t.Helper()
	if on.name == onAzure.name {
		a, err := account.Open(account.Config{ConnectionString: azuritetest.Server(c.t).ConnectionString()})
		if err != nil {
			c.t.Fatal(err)
		}
		c.t.Cleanup(a.Close)
		driver, err := azure.Open(a, azure.Config{Cluster: c.cluster})
		if err != nil {
			c.t.Fatal(err)
		}
		return driver
	}
	nc, err := nats.Connect(c.url)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(nc.Close)
	driver, err := jetstream.Open(c.t.Context(), nc, jetstream.Config{Cluster: c.cluster, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		c.t.Fatal(err)
	}
	return driver
}

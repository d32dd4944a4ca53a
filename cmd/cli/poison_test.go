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
		f := newTestFlock(t, on, 0)
		if err := f.queue(on).Send(t.Context(), []byte("hello")); err != nil {
			t.Fatal(err)
		}
		id := f.submit("n=10")
		f.add(1)
		f.finish(id, "n=10")

		type entry struct {
			Name       string `json:"name"`
			Reason     string `json:"reason"`
			Deliveries int    `json:"deliveries"`
		}
		poisoned := func() (list []entry) {
			f.do(&list, "list", "--poison")
			return list
		}
		list := poisoned()
		if len(list) != 1 || list[0].Reason == "" || list[0].Deliveries != 1 {
			t.Fatalf("poison list: got %+v, want one entry with its reason", list)
		}
		var put struct{ Name string }
		for _, p := range f.Running() { // or they would poison it again
			f.kill(p)
		}
		f.do(&put, "requeue", list[0].Name)
		if put.Name != list[0].Name || len(poisoned()) != 0 {
			t.Errorf("requeued: got %q, and the poison list is %+v", put.Name, poisoned())
		}
		if status := f.ask(nil, "requeue", list[0].Name); status != 2 {
			t.Errorf("requeued twice: status %d, want 2", status)
		}
	})
}

// queue opens the cluster's queue.
func (f *testFlock) queue(on testStorage) store.Queue {
	f.t.Helper()
	if on.name == onAzure.name {
		a, err := account.Open(account.Config{ConnectionString: azuritetest.Server(f.t).ConnectionString()})
		if err != nil {
			f.t.Fatal(err)
		}
		f.t.Cleanup(a.Close)
		driver, err := azure.Open(a, azure.Config{Cluster: f.cluster})
		if err != nil {
			f.t.Fatal(err)
		}
		return driver
	}
	nc, err := nats.Connect(f.url)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(nc.Close)
	driver, err := jetstream.Open(f.t.Context(), nc, jetstream.Config{Cluster: f.cluster, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.t.Fatal(err)
	}
	return driver
}

package client_test

import (
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// onAzure returns a copy of the cluster's configuration with Azurite as the storage.
func onAzure(t *testing.T, where cluster.Config) cluster.Config {
	where.Storage = cluster.Azure
	where.Azure.Config = account.Config{ConnectionString: azuritetest.Server(t).ConnectionString()}
	return where
}

// TestLeaderOnAnotherStorage uses clients whose storage differs from the storage of the workers.
func TestLeaderOnAnotherStorage(t *testing.T) {
	fleet := onJetStream(t)
	fleet.Name = "stray-" + store.NewID(time.Now()) // a unique name, because tests share the Azurite server
	stray := onAzure(t, fleet)
	stray.CallTimeout = 30 * time.Second         // of storage, which always answers
	c := connect(t, stray, 300*time.Millisecond) // of the leader, which never answers
	id := submit(t, c, client.SubmitOptions{})   // at this time there is no leader
	startWorkers(t, fleet, 1)
	leader(t, connect(t, fleet, 30*time.Second))

	_, err := c.Submit(t.Context(), jobs.MustNew(sum), client.SubmitOptions{})
	want(t, "submit to a storage without an identity", err, client.ErrOtherStorage, "the leader of cluster "+fleet.Name+" uses storage ", "this program uses storage that no worker has ever used")
	_, err = c.Wait(t.Context(), id)
	want(t, "wait", err, client.ErrOtherStorage, "give all processes of a cluster the same storage")
	for _, err = range c.Watch(t.Context(), id) {
	}
	want(t, "watch", err, client.ErrOtherStorage)
	want(t, "cancel", c.Cancel(t.Context(), id), client.ErrOtherStorage)
	if list, _, err := c.List(t.Context()); err != nil || len(list) != 1 || list[0].Epoch != 0 {
		t.Errorf("list: %+v, %v, want one job, without an answer of the leader", list, err)
	}
	if ids, err := c.IDs(t.Context()); err != nil || len(ids) != 1 {
		t.Errorf("storage has jobs %v, %v, want only the first", ids, err)
	}
}

// TestTwoFleets runs two clusters with the same name on one NATS server, but on different storages.
// Each client gets only answers of the leader that uses the client's storage.
func TestTwoFleets(t *testing.T) {
	here := onJetStream(t)
	here.Name = "pair-" + store.NewID(time.Now()) // a unique name, because tests share the Azurite server
	there := onAzure(t, here)
	startWorkers(t, here, 1)
	startWorkers(t, there, 1)
	for name, where := range map[string]cluster.Config{"jetstream": here, "azure": there} {
		c := connect(t, where, 30*time.Second)
		id := submit(t, c, client.SubmitOptions{Params: sumParams{N: 20, Wait: time.Millisecond}})
		if s, err := c.Wait(t.Context(), id); err != nil || s.State != client.Completed {
			t.Errorf("%s: %+v, %v, want a completed job", name, s, err)
		}
		held := submit(t, c, client.SubmitOptions{Params: sumParams{N: 1, Hold: true}})
		for {
			s, err := c.Status(t.Context(), held)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if s.Live != nil && s.Live.Workers == 1 {
				break
			}
		}
		if err := c.Cancel(t.Context(), held); err != nil {
			t.Errorf("%s: cancel: %v", name, err)
		}
	}
}

// leader waits until a leader answers.
func leader(t *testing.T, c *client.Client) {
	t.Helper()
	if _, err := c.Leader(t.Context()); err != nil {
		t.Fatal(err)
	}
}

package client_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// TestSubmitToNobody submits to a cluster that no worker has used.
func TestSubmitToNobody(t *testing.T) {
	where := onJetStream(t)
	where.Name = "nobody-" + store.NewID(time.Now()) // a unique name, because tests share the Azurite server
	storages := map[string]cluster.Config{"jetstream": where}
	if azuritetest.Wanted() {
		storages["azure"] = onAzure(t, where)
	}
	for name, where := range storages {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it mostly waits for answers that do not come
			c := connect(t, where, 2*time.Second)
			_, err := c.Submit(t.Context(), jobs.MustNew(sum), client.SubmitOptions{})
			want(t, "submit", err, client.ErrUnused, "no worker has used cluster "+where.Name)
			_, _, err = c.List(t.Context())
			want(t, "list", err, client.ErrUnused)
			if exists, err := where.Exists(t.Context(), c.Conn()); err != nil || exists != (where.Storage == cluster.Azure) {
				t.Errorf("the client has created the storage: %v, %v", exists, err)
			}
			id := submit(t, c, client.SubmitOptions{})
			if list, _, err := c.List(t.Context()); err != nil || len(list) != 1 || list[0].ID != id {
				t.Errorf("list: %v, %v, want only job %s", list, err, id)
			}
		})
	}
}

// TestSubmitWhatNobodyRuns submits a kind and a version that no worker runs.
func TestSubmitWhatNobodyRuns(t *testing.T) {
	where := onJetStream(t)
	startWorkers(t, where, 1)
	c := connect(t, where, 30*time.Second)
	id, err := c.Submit(t.Context(), jobs.MustNew(sum), client.SubmitOptions{})
	if err != nil {
		t.Fatal(err) // the worker may start after the submission
	}
	if _, err := c.Wait(t.Context(), id); err != nil {
		t.Fatal(err) // from now on a leader answers
	}
	hasty := connect(t, where, 4*time.Second)
	other, next := sum, sum
	other.Name, next.Version = "other", "2"
	_, err = hasty.Submit(t.Context(), jobs.MustNew(other), client.SubmitOptions{})
	want(t, "submit another job", err, client.ErrUnknown, "no worker of cluster default runs other version 1")
	_, err = hasty.Submit(t.Context(), jobs.MustNew(next), client.SubmitOptions{})
	want(t, "submit another version", err, client.ErrUnknown, "no worker of cluster default runs version 2 of sum: they run version 1")
	if _, err := hasty.Submit(t.Context(), jobs.MustNew(other), client.SubmitOptions{Queue: true}); err != nil {
		t.Error(err)
	}
}

// TestSubmitWhileLeadersChange submits to a leader to which no worker has reported, and which is then replaced by
// a leader of an earlier version, which does not tell what its workers run.
func TestSubmitWhileLeadersChange(t *testing.T) {
	l, c := leadFake(t)
	answers := []wire.Workers{{Epoch: 1, Totals: &wire.Totals{}}, {Epoch: 2, Totals: &wire.Totals{Workers: 1}}}
	var asked atomic.Int32
	if _, err := l.nc.Subscribe(l.subjects.Ask(wire.AskWorkers), func(m *nats.Msg) {
		at := min(int(asked.Add(1)), len(answers)) - 1
		_ = m.Respond(wire.Encode(answers[at])) // fails only if the test has ended
	}); err != nil {
		t.Fatal(err)
	}
	if err := l.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Submit(t.Context(), jobs.MustNew(sum), client.SubmitOptions{}); err != nil || asked.Load() < 2 {
		t.Errorf("got error %v after %d answers, want none after two", err, asked.Load())
	}
}

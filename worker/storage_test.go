package worker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker"
)

// TestWorkerOnAnotherStorage starts a worker whose storage differs from that of the other workers.
// The worker leads on its own storage, under the same epoch as the fleet's leader. Both leaders log
// the other storage, and the job of the other workers is not disturbed.
func TestWorkerOnAnotherStorage(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	fleet := c.start(twoSlots)
	fleet.logged(`msg=Leading.* epoch=1 `)
	params := []string{"partitions=300", "sleep=2ms", "hold=true"}
	id := c.submit(params...)
	c.checkpoint(id, "the job runs", func(m store.Manifest) bool { return m.State == store.Running })

	other := &testCluster{t: t, cfg: c.cfg, release: make(chan struct{})}
	other.job = jobs.MustNew(other.squares())
	other.cfg.Storage = cluster.Azure
	other.cfg.Azure.Config = account.Config{ConnectionString: azuritetest.Server(t).ConnectionString()}
	stray := other.start(func(cfg *worker.Config) { cfg.ID = "stray" })
	stray.logged(`msg=Leading.* epoch=1 `)
	complaint := stray.logged(`msg="Leader ignored".* error="(.*)"`)
	for _, want := range []string{"another storage: leader ", "worker stray uses storage ", "give all processes of a cluster the same storage"} {
		if !strings.Contains(complaint, want) {
			t.Errorf("the stray worker logs %q, want %q in it", complaint, want)
		}
	}
	fleet.logged(`msg="Leader ignored".* error="another storage: leader stray uses storage `)

	if m := c.finish(id, params...); m.State != store.Completed || m.Executed < 300 || m.Executed > 300 && !c.stalled() {
		t.Errorf("the job is %s and executed %d partitions, want 300: %s", m.State, m.Executed, m.Error)
	}
	if n := other.runs.Load(); n > 0 {
		t.Errorf("the stray worker ran %d partitions of the fleet's job", n)
	}
}

// TestBeaconOfAnEpochThatNoLeaderHas sends beacons of epochs that no leader has. The workers ignore
// an absurd epoch. After a plausible epoch the workers elect a leader and follow it, so the job
// continues.
func TestBeaconOfAnEpochThatNoLeaderHas(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	c := newCluster(t)
	fleet := []*testWorker{c.start(twoSlots), c.start(twoSlots)}
	params := []string{"partitions=300", "sleep=2ms", "hold=true"}
	id := c.submit(params...)
	c.checkpoint(id, "the job runs", func(m store.Manifest) bool { return m.State == store.Running })

	nc := natstest.Connect(t, c.server.URL())
	subjects, err := c.cfg.Subjects()
	if err != nil {
		t.Fatal(err)
	}
	for _, epoch := range []uint64{1<<64 - 1, 1 << 40} {
		beacon := wire.Beacon{Epoch: epoch, Worker: "nobody", LeaseID: "none", Next: time.Second}
		if err := nc.Publish(subjects.Beacon(), wire.Encode(beacon)); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range fleet {
		w.logged(`msg="Message refused".* error="no epoch that a leader can have"`)
		w.logged(`msg="No leader answers, following the epoch in the lease's record" .*was=1099511627776`)
	}
	if m := c.finish(id, params...); m.State != store.Completed {
		t.Errorf("the job is %s: %s", m.State, m.Error)
	}
}

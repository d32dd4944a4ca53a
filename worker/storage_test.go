package worker_test

import (
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
	"github.com/bellwether-compute/bellwether/worker"
)

// TestWorkerOnAnotherStorage starts a worker whose storage is not its fleet's. The worker
// leads on its own storage, under the same epoch as the fleet's leader. Both say so, and the
// fleet's job is not disturbed.
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

	if m := c.finish(id, params...); m.State != store.Completed || m.Executed != 300 {
		t.Errorf("the job is %s and executed %d partitions, want 300: %s", m.State, m.Executed, m.Error)
	}
	if n := other.runs.Load(); n > 0 {
		t.Errorf("the stray worker ran %d partitions of the fleet's job", n)
	}
}

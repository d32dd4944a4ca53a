package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/worker"
)

type health struct {
	OK      bool     `json:"ok"`
	Reasons []string `json:"reasons"`
	Leads   bool     `json:"leads"`
	Worker  struct {
		ID    string `json:"id"`
		Epoch uint64 `json:"epoch"`
		Slots int    `json:"slots"`
		Busy  int    `json:"busy"`
	} `json:"worker"`
}

func getHealth(t *testing.T, address, path string) (status int, h health) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&h); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, h
}

// awaitReady waits until /readyz answers 200.
func (w *testWorker) awaitReady() (h health) {
	w.t.Helper()
	address := w.address()
	until(w.t, "the worker is ready", func() bool {
		var status int
		status, h = getHealth(w.t, address, "/readyz")
		return status == http.StatusOK && h.OK && len(h.Reasons) == 0
	})
	return h
}

// TestLargeParameters runs a job with parameters that are too large for a message next to
// other jobs.
func TestLargeParameters(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for range 2 {
		c.start(nil)
	}
	params := []string{"partitions=20", "note=" + strings.Repeat("<", 200_000)}
	small := []string{"partitions=30"}
	large, other := c.submit(params...), c.submit(small...)
	c.await(large, params...)
	c.await(other, small...)
}

// TestWaitsForNATS starts a worker before its NATS server. The worker is healthy but not ready
// until the server is available, and then it leads; after its stop, its address no longer answers.
func TestWaitsForNATS(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // reserve a port
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	c := &testCluster{t: t, dir: t.TempDir(), cfg: cluster.Config{NATS: cluster.NATS{URL: "nats://" + listener.Addr().String()}}}
	c.job = jobs.MustNew(c.squares())
	_ = listener.Close()
	w := c.start(func(cfg *worker.Config) { cfg.ID = "w-1" })
	address := w.address()
	if status, h := getHealth(t, address, "/healthz"); status != http.StatusOK || !h.OK || !slices.Contains(h.Reasons, "not connected to NATS") {
		t.Errorf("healthz without NATS: got status %d, %+v", status, h)
	}
	if status, h := getHealth(t, address, "/readyz"); status != http.StatusServiceUnavailable || h.OK || !slices.Contains(h.Reasons, "not connected to NATS") {
		t.Errorf("readyz without NATS: got status %d, %+v", status, h)
	}
	w.logged(`msg="(Cannot reach NATS), retrying" self=w-1`)

	c.startNATS(port)
	defer c.server.Shutdown()
	if h := w.awaitReady(); !h.Leads || h.Worker.Epoch != 1 || h.Worker.ID != "w-1" || h.Worker.Slots != 1 {
		t.Errorf("readyz of the only worker: got %+v, want w-1 to lead epoch 1 with 1 slot", h)
	}
	if status, h := getHealth(t, address, "/healthz"); status != http.StatusOK || !h.OK {
		t.Errorf("healthz of a leader: got status %d, %+v", status, h)
	}
	w.end()
	w.logged(`msg="(Stopping gracefully)" self=w-1 reason="context canceled"`)
	if _, err := http.Get("http://" + address + "/healthz"); err == nil {
		t.Error("healthz answers although its worker has stopped")
	}
}

// TestStopsWhileItWaits ends the context of a worker that has reached neither NATS nor storage.
func TestStopsWhileItWaits(t *testing.T) {
	t.Parallel()
	c := &testCluster{t: t, cfg: cluster.Config{NATS: cluster.NATS{URL: "nats://127.0.0.1:1"}}}
	c.job = jobs.MustNew(c.squares())
	w := c.start(nil)
	w.logged("(Cannot open storage, retrying)")
	w.end()
}

// TestHandover stops the leader in the middle of a job, and checks that no partition is executed
// twice.
func TestHandover(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	leader := c.start(nil)
	leader.awaitReady()
	params := []string{"partitions=400", "sleep=5ms", "hold=true"}
	id := c.submit(params...)
	c.start(nil).awaitReady()
	until(t, "the leader runs a partition", func() bool {
		_, h := getHealth(t, leader.address(), "/readyz")
		return h.Worker.Busy == 1
	})
	leader.end()
	c.checkRuns(400, c.finish(id, params...).Executed)
	if got, want := c.causes(), []string{"first", "handover"}; !slices.Equal(got, want) {
		t.Errorf("terms began by %v, want %v", got, want)
	}
}

// TestHandoverBeforeDrain stops the leader's process while its worker runs a partition. The next leader leads before
// the partition ends, and receives its result.
func TestHandoverBeforeDrain(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	leader := c.start(func(cfg *worker.Config) { cfg.DrainTimeout = patience })
	leader.awaitReady()
	params := []string{"partitions=1", "hold=true"}
	id := c.submit(params...)
	until(t, "the leader runs the partition", func() bool { return c.runs.Load() == 1 })
	other := c.start(nil)
	other.awaitReady()
	leader.stop()
	other.logged(`msg="(Job resumed)"`)
	if _, h := getHealth(t, leader.address(), "/healthz"); h.Leads || h.Worker.Busy != 1 {
		t.Errorf("the stopping process reports %+v, want it to run a partition and not to lead", h)
	}
	c.checkRuns(1, c.finish(id, params...).Executed)
	leader.await()
	if got, want := c.causes(), []string{"first", "handover"}; !slices.Equal(got, want) {
		t.Errorf("terms began by %v, want %v", got, want)
	}
}

// TestBadConfig expects ErrConfig errors that name the field.
func TestBadConfig(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for want, spoil := range map[string]func(*worker.Config){
		"Jobs: want at least one job":    func(cfg *worker.Config) { cfg.Jobs = nil },
		`ID "A": want `:                  func(cfg *worker.Config) { cfg.ID = "A" },
		"Slots -1: want 1 to 1000":       func(cfg *worker.Config) { cfg.Slots = -1 },
		"Lease 1ms: want at least":       func(cfg *worker.Config) { cfg.Lease = time.Millisecond },
		"DrainTimeout 1ms: want at":      func(cfg *worker.Config) { cfg.DrainTimeout = time.Millisecond },
		`SpillDir "/none": want an`:      func(cfg *worker.Config) { cfg.SpillDir = "/none" },
		"Memory 1: want at least 64 MiB": func(cfg *worker.Config) { cfg.Memory = 1 },
		"address already in use":         func(cfg *worker.Config) { cfg.HTTP = taken.Addr().String() },
		"lower-case letters":             func(cfg *worker.Config) { cfg.Cluster.Name = "A" },
		`Storage "tape"`:                 func(cfg *worker.Config) { cfg.Cluster.Storage = "tape" },
	} {
		cfg := worker.Config{Cluster: c.cfg, Jobs: []jobs.Job{c.job}, Logger: slog.New(slog.DiscardHandler)}
		spoil(&cfg)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := worker.Run(ctx, cfg)
		cancel()
		if !errors.Is(err, worker.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want ErrConfig with %q", err, want)
		}
	}
}

// TestPodDeletionCost starts a worker outside a pod, which logs what is missing, and works.
func TestPodDeletionCost(t *testing.T) {
	c := newCluster(t)
	w := c.start(func(cfg *worker.Config) { cfg.PodDeletionCost = true })
	w.logged(`msg="Cannot annotate the pod with the cost of its deletion" .*KUBERNETES_SERVICE_HOST`)
	c.await(c.submit("partitions=10"), "partitions=10")
}

// The test runs alone, because GOMAXPROCS belongs to the whole program.
func TestSetGOMAXPROCS(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	w := newCluster(t).start(func(c *worker.Config) { c.Slots, c.SetGOMAXPROCS = 3, true })
	w.awaitReady()
	if n := runtime.GOMAXPROCS(0); n != 5 {
		t.Errorf("GOMAXPROCS is %d while a worker with 3 slots runs, want 5", n)
	}
	w.end()
	if n := runtime.GOMAXPROCS(0); n != before {
		t.Errorf("GOMAXPROCS is %d after the worker has stopped, want %d", n, before)
	}
}

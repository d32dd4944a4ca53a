package worker_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/deploy/local/logtest"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/worker"
)

func TestMain(m *testing.M) {
	// Most tests have a NATS server and some workers, which have little time for their calls.
	if err := azuritetest.AtOnce(8); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(azuritetest.StopAfter(m))
}

// testCluster consists of a NATS server, whose JetStream is the storage, and workers in this
// process.
type testCluster struct {
	t       *testing.T
	cfg     cluster.Config
	dir     string // folder of the NATS server
	server  *natsserver.Server
	workers []*testWorker // all that were started
	job     jobs.Job
	runs    atomic.Int64  // number of executed partitions
	release chan struct{} // closed when the last partition of a job may end
	store   *store.Store
}

func newCluster(t *testing.T) *testCluster {
	t.Helper()
	c := &testCluster{t: t, dir: t.TempDir(), release: make(chan struct{})}
	c.job = jobs.MustNew(c.squares())
	c.startNATS(0)
	t.Cleanup(func() { c.server.Shutdown() })
	c.cfg.NATS.URL = c.server.URL()
	storage, err := c.cfg.OpenStorage(c.patient(), natstest.Connect(t, c.server.URL()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(storage.Close)
	c.store = storage.Store(nil)
	return c
}

// startNATS starts the NATS server, with its earlier data if it ran before.
func (c *testCluster) startNATS(port int) {
	c.t.Helper()
	var err error
	if c.server, err = natsserver.Start(natsserver.Config{Dir: c.dir, Port: port}); err != nil {
		c.t.Fatal(err)
	}
}

// squares returns a job that sums the squares of its partitions' numbers. If a job is held, its
// last partition waits until release is closed.
func (c *testCluster) squares() jobs.Definition[squaresParams, uint64, uint64] {
	return jobs.Definition[squaresParams, uint64, uint64]{
		Name: "squares", Version: "1", Defaults: squaresParams{Partitions: 1},
		Plan: func(_ context.Context, p squaresParams) (jobs.Plan, error) {
			return jobs.Plan{Partitions: p.Partitions}, nil
		},
		Open: func(_ context.Context, p squaresParams, _ jobs.Plan) (jobs.Mapper[uint64], error) {
			return squaresMapper{p, c}, nil
		},
		Merge:  func(left, right uint64) (uint64, error) { return left + right, nil },
		Finish: func(_ context.Context, _ squaresParams, root uint64) (uint64, error) { return root, nil },
	}
}

type squaresParams struct {
	Partitions uint64        `json:"partitions" min:"1"`
	Sleep      time.Duration `json:"sleep"` // duration of each partition
	Hold       bool          `json:"hold"`
	Note       string        `json:"note"` // not used
}

type squaresMapper struct {
	squaresParams
	cluster *testCluster
}

func (m squaresMapper) Map(ctx context.Context, partition uint64) (uint64, error) {
	m.cluster.runs.Add(1)
	select {
	case <-time.After(m.Sleep):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if m.Hold && partition+1 == m.Partitions {
		select {
		case <-m.cluster.release:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return partition * partition, nil
}

// testWorker is a running worker.
type testWorker struct {
	t       *testing.T
	log     *logtest.Log
	stop    context.CancelFunc
	ended   chan error
	stopped bool
}

// start starts a worker with one slot that serves its health. The function edit, if not nil,
// changes the worker's configuration. The test stops the worker at its end.
func (c *testCluster) start(edit func(*worker.Config)) *testWorker {
	c.t.Helper()
	w := &testWorker{t: c.t, log: &logtest.Log{}, ended: make(chan error, 1)}
	cfg := worker.Config{
		Cluster: c.cfg, Jobs: []jobs.Job{c.job}, Slots: 1, HTTP: "127.0.0.1:0",
		Logger: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if edit != nil {
		edit(&cfg)
	}
	var ctx context.Context
	ctx, w.stop = context.WithCancel(context.Background())
	go func() { w.ended <- worker.Run(ctx, cfg) }()
	c.workers = append(c.workers, w)
	c.t.Cleanup(func() {
		w.end()
		if c.t.Failed() {
			c.t.Logf("log of a worker:\n%s", w.log.String())
		}
	})
	return w
}

// end stops the worker, unless it has ended, and expects no error.
func (w *testWorker) end() {
	w.t.Helper()
	w.stop()
	w.await()
}

// await waits until the worker has ended, and expects no error.
func (w *testWorker) await() {
	w.t.Helper()
	if w.stopped {
		return
	}
	select {
	case err := <-w.ended:
		w.stopped = true
		if err != nil {
			w.t.Errorf("worker ended with %v", err)
		}
	case <-time.After(patience):
		w.t.Fatalf("worker has not ended after %v", patience)
	}
}

// logged waits until the log matches, and returns the first submatch.
func (w *testWorker) logged(pattern string) string {
	w.t.Helper()
	form := regexp.MustCompile(pattern)
	var match []string
	until(w.t, "the log has "+pattern, func() bool {
		match = form.FindStringSubmatch(w.log.String())
		return match != nil
	})
	return match[len(match)-1]
}

// address returns the address at which the worker serves its health.
func (w *testWorker) address() string {
	w.t.Helper()
	return w.logged(`msg="Serving health and metrics".* address=(\S+)`)
}

// patience bounds each wait of a test.
const patience = 3 * time.Minute

// patient returns a context for calls of the test itself. Without its deadline they would end after 5 s, which
// is too early beside many other tests.
func (c *testCluster) patient() context.Context {
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	c.t.Cleanup(cancel)
	return ctx
}

// until waits until a condition holds. The pauses between checks grow with the time waited, because
// a check of a job's manifest takes milliseconds of processor time with the race detector.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); {
		waited := time.Since(began)
		if waited > patience {
			t.Fatalf("waited %v until %s", patience, what)
		}
		time.Sleep(min(10*time.Millisecond+waited/20, 200*time.Millisecond))
	}
}

func (c *testCluster) submit(params ...string) (id string) {
	c.t.Helper()
	return c.submitEdited(func(*store.Spec) {}, params...)
}

// submitEdited submits a job after a change of its spec.
func (c *testCluster) submitEdited(edit func(*store.Spec), params ...string) (id string) {
	c.t.Helper()
	p, err := c.job.Params(nil, params...)
	if err != nil {
		c.t.Fatal(err)
	}
	spec := store.Spec{
		ID: store.NewID(time.Now()), Job: c.job.Name(), Version: c.job.Version(), Params: p, MaxAttempts: 1,
		Submitted: time.Now().UTC().Truncate(time.Microsecond),
	}
	edit(&spec)
	if err := c.store.Submit(c.patient(), spec); err != nil {
		c.t.Fatal(err)
	}
	return spec.ID
}

// checkpoint waits until the job's manifest meets a condition, and returns it.
func (c *testCluster) checkpoint(id, what string, ok func(store.Manifest) bool) (m store.Manifest) {
	c.t.Helper()
	until(c.t, what, func() bool {
		var err error
		m, _, err = c.store.Manifest(c.t.Context(), id)
		return err == nil && ok(m)
	})
	return m
}

// cancel cancels a job.
func (c *testCluster) cancel(id string) {
	c.t.Helper()
	user, err := client.Connect(c.t.Context(), client.Config{Cluster: c.cfg, Timeout: patience})
	if err != nil {
		c.t.Fatal(err)
	}
	defer user.Close()
	if err := user.Cancel(c.t.Context(), id); err != nil {
		c.t.Fatal(err)
	}
}

// finish releases the last partition and waits for the job's end.
func (c *testCluster) finish(id string, params ...string) store.Manifest {
	c.t.Helper()
	close(c.release)
	return c.await(id, params...)
}

// await waits until the job has ended, and compares its result with that of the same job in one
// process.
func (c *testCluster) await(id string, params ...string) store.Manifest {
	c.t.Helper()
	m := c.checkpoint(id, "the job has ended", func(m store.Manifest) bool { return m.State.Final() })
	p, err := c.job.Params(nil, append(params, "sleep=0s", "hold=false")...)
	if err != nil {
		c.t.Fatal(err)
	}
	executed := c.runs.Load()
	defer c.runs.Store(executed)
	want, err := jobs.Local{Slots: 1, Attempts: 1}.Run(c.t.Context(), c.job, p)
	if err != nil {
		c.t.Fatal(err)
	}
	if got, err := c.store.Result(c.patient(), id, ""); err != nil || !slices.Equal(got, want.Result) {
		c.t.Errorf("job %s is %s: result %s, error %v, want %s", id, m.State, got, err, want.Result)
	}
	return m
}

// stalled reports whether a leader said that it had not heard from a worker for seconds, or workers that they had not
// heard from their leader. Partitions may have run again then: the machine was so busy that the process did not run.
func (c *testCluster) stalled() bool {
	return slices.ContainsFunc(c.workers, func(w *testWorker) bool {
		log := w.log.String()
		return strings.Contains(log, "Worker is silent for") || strings.Contains(log, "Workers did not answer the new leader") || strings.Contains(log, "cause=silent")
	})
}

// checkRuns expects that the n partitions of all jobs ran once, and once more for each partition that a leader said to
// be late, and that their manifests say so. If processes stalled, partitions may have run again.
func (c *testCluster) checkRuns(n int, executed uint64) {
	c.t.Helper()
	most := n
	for _, w := range c.workers {
		most += w.log.Count("runs here too")
	}
	if c.stalled() {
		most = math.MaxInt
	}
	if runs := int(c.runs.Load()); min(runs, int(executed)) < n || max(runs, int(executed)) > most {
		c.t.Errorf("executed %d partitions of %d, ran %d, want at most %d", executed, n, runs, most)
	}
}

// causes returns the causes of the terms so far.
func (c *testCluster) causes() (causes []string) {
	c.t.Helper()
	terms, err := c.store.Terms(c.patient())
	if err != nil {
		c.t.Fatal(err)
	}
	for _, t := range terms {
		causes = append(causes, fmt.Sprint(t.Cause))
	}
	return causes
}

package coordinator_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/coordinator"
	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/kvlease"
	"github.com/bellwether-compute/bellwether/election/natspeers"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/executor"
)

// wholeCluster is a cluster with nothing left out: members that race for a lease,
// on JetStream on disk, in one process.
type wholeCluster struct {
	t      *testing.T
	dir    string
	server *natsserver.Server
	port   int
	log    *slog.Logger
	jobs   []jobs.Job
	store  *store.Store
}

func newWholeCluster(t *testing.T, members int, kinds ...jobs.Job) *wholeCluster {
	t.Helper()
	c := &wholeCluster{t: t, dir: t.TempDir(), jobs: kinds, log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	c.startServer()
	t.Cleanup(func() { c.server.Shutdown() })
	var nc *nats.Conn
	nc, c.store = c.connect()
	t.Cleanup(nc.Close)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	for i := range members {
		running.Go(func() { c.member(ctx, fmt.Sprintf("m%d", i)) })
	}
	return c
}

func (c *wholeCluster) startServer() {
	c.t.Helper()
	cfg := natsserver.Config{Dir: c.dir}
	if c.port != 0 {
		cfg.Port = c.port
	}
	var err error
	if c.server, err = natsserver.Start(cfg); err != nil {
		c.t.Fatal(err)
	}
	at, err := url.Parse(c.server.URL())
	if err != nil {
		c.t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(at.Host)
	if err != nil {
		c.t.Fatal(err)
	}
	if c.port, err = strconv.Atoi(port); err != nil {
		c.t.Fatal(err)
	}
}

func (c *wholeCluster) connect() (*nats.Conn, *store.Store) {
	c.t.Helper()
	nc, err := nats.Connect(c.server.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	driver, err := jetstream.Open(ctx, nc, jetstream.Config{Cluster: "test", Logger: c.log})
	if err != nil {
		c.t.Fatal(err)
	}
	return nc, store.New(driver, driver)
}

// member takes part as a process does, until ctx is done.
func (c *wholeCluster) member(ctx context.Context, id string) {
	log := c.log.With("self", id)
	subjects, err := wire.NewSubjects("test")
	if err != nil {
		c.t.Error(err)
		return
	}
	nc, st := c.connect()
	defer nc.Close()
	w, err := executor.New(nc, st, executor.Config{Subjects: subjects, ID: id, Slots: 2, Jobs: c.jobs, DrainTimeout: time.Second, Logger: log})
	if err != nil {
		c.t.Error(err)
		return
	}
	lead, err := coordinator.New(coordinator.Config{
		Config: term.Config{
			Worker: id, Store: st, Jobs: c.jobs, Logger: log,
			Ledger: ledger.Config{CheckpointEvery: 100 * time.Millisecond},
		},
		Subjects: subjects, Conn: nc,
	})
	if err != nil {
		c.t.Error(err)
		return
	}
	js, err := natsjs.New(nc)
	if err != nil {
		c.t.Error(err)
		return
	}
	lease, err := kvlease.Open(ctx, js, kvlease.Config{Bucket: "lease", Duration: 5 * time.Second})
	if err != nil {
		c.t.Error(err)
		return
	}
	peers, err := natspeers.New(nc, subjects, id, log)
	if err != nil {
		c.t.Error(err)
		return
	}
	defer peers.Close()
	drained, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	var both sync.WaitGroup
	defer both.Wait()
	both.Go(func() {
		defer leave()
		if err := w.Run(ctx); err != nil {
			c.t.Error(err)
		}
	})
	err = election.Run(drained, lease, peers, election.Config{ID: id, Duration: 5 * time.Second, Logger: log}, lead.Lead)
	if err != nil {
		c.t.Error(err)
	}
}

func (c *wholeCluster) submit(job jobs.Job, params ...string) string {
	c.t.Helper()
	p, err := job.Params(nil, params...)
	if err != nil {
		c.t.Fatal(err)
	}
	spec := store.Spec{
		ID: store.NewID(time.Now()), Job: job.Name(), Version: job.Version(), Params: p, MaxAttempts: 3,
		Submitted: time.Now().UTC().Truncate(time.Microsecond),
	}
	if err := c.store.Submit(context.Background(), spec); err != nil {
		c.t.Fatal(err)
	}
	return spec.ID
}

func (c *wholeCluster) await(id, what string, within time.Duration, ok func(store.Manifest) bool) store.Manifest {
	c.t.Helper()
	deadline := time.Now().Add(within)
	for {
		m, _, err := c.store.Manifest(context.Background(), id)
		if err == nil && ok(m) {
			return m
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("waited %v for %s of job %s: state %s, executed %d, error %v", within, what, id, m.State, m.Executed, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// brick is a job whose partitions take a millisecond, and that counts them.
type brickParams struct {
	Partitions uint64 `min:"1"`
}

func newBrick(runs *atomic.Int64) jobs.Job {
	return jobs.MustNew(jobs.Definition[brickParams, uint64, uint64]{
		Name: "brick", Version: "1", Defaults: brickParams{Partitions: 1},
		Plan: func(_ context.Context, p brickParams) (jobs.Plan, error) {
			return jobs.Plan{Partitions: p.Partitions}, nil
		},
		Open: func(context.Context, brickParams, jobs.Plan) (jobs.Mapper[uint64], error) {
			return brickMapper{runs}, nil
		},
		Merge:  func(left, right uint64) (uint64, error) { return left*31 + right, nil },
		Finish: func(_ context.Context, _ brickParams, root uint64) (uint64, error) { return root, nil },
	})
}

type brickMapper struct{ runs *atomic.Int64 }

func (m brickMapper) Map(ctx context.Context, partition uint64) (uint64, error) {
	m.runs.Add(1)
	select {
	case <-time.After(time.Millisecond):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return partition * partition, nil
}

// NATS with all that is stored there goes away in the middle of a job, twice, and
// comes back as it was. Nothing is computed again for that.
func TestRestartOfNATS(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	var runs atomic.Int64
	brick := newBrick(&runs)
	c := newWholeCluster(t, 3, brick)
	const partitions = 12_000
	id := c.submit(brick, fmt.Sprint("partitions=", partitions))
	for _, share := range []uint64{10, 3} {
		c.await(id, "progress", 60*time.Second, func(m store.Manifest) bool { return m.Executed > partitions/share })
		c.server.Shutdown()
		before := runs.Load()
		for deadline := time.Now().Add(700 * time.Millisecond); time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond) // NATS is away so long
		}
		if runs.Load() == before && share == 10 {
			t.Error("no partition ran while NATS was away")
		}
		c.startServer()
	}
	m := c.await(id, "the end", 60*time.Second, func(m store.Manifest) bool { return m.State.Final() })
	if m.State != store.Completed || m.Executed != partitions || runs.Load() != partitions {
		t.Errorf("job is %s: %s; executed %d partitions, ran %d, want %d", m.State, m.Error, m.Executed, runs.Load(), partitions)
	}
	wantLocal(t, c, brick, id, fmt.Sprint("partitions=", partitions))
}

func wantLocal(t *testing.T, c *wholeCluster, job jobs.Job, id string, params ...string) {
	t.Helper()
	p, err := job.Params(nil, params...)
	if err != nil {
		t.Fatal(err)
	}
	want, err := jobs.Local{Slots: 4, Attempts: 1}.Run(context.Background(), job, p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.store.Result(context.Background(), id)
	if err != nil || !slices.Equal(got, want.Result) {
		t.Errorf("result %s, error %v, want %s", got, err, want.Result)
	}
}

// Many small jobs at once all come to their end.
func TestManySmallJobs(t *testing.T) {
	var runs atomic.Int64
	brick := newBrick(&runs)
	c := newWholeCluster(t, 2, brick)
	const n = 200
	var ids []string
	began := time.Now()
	for range n {
		ids = append(ids, c.submit(brick, "partitions=3"))
	}
	for _, id := range ids {
		if m := c.await(id, "the end", 60*time.Second, func(m store.Manifest) bool { return m.State.Final() }); m.State != store.Completed {
			t.Errorf("job %s is %s: %s", id, m.State, m.Error)
		}
	}
	t.Logf("%.0f jobs/s from the first submission on", n/time.Since(began).Seconds())
	if runs.Load() != 3*n {
		t.Errorf("ran %d partitions, want %d", runs.Load(), 3*n)
	}
}

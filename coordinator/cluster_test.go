package coordinator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/coordinator"
	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// digits is a job whose merge does not commute: its result lists all partitions, in
// order.
type digitsParams struct {
	Partitions uint64 `min:"1"`
	Fail       string `oneof:"no map plan finish merge"`
	Pad        int    `min:"0"` // number of bytes that pad each partial
}

var digits = jobs.MustNew(jobs.Definition[digitsParams, string, string]{
	Name: "digits", Version: "1", Summary: "concatenate", Defaults: digitsParams{Partitions: 1, Fail: "no"},
	Plan: func(_ context.Context, p digitsParams) (jobs.Plan, error) {
		if p.Fail == "plan" {
			panic("no plan")
		}
		return jobs.Plan{Partitions: p.Partitions}, nil
	},
	Open: func(_ context.Context, p digitsParams, _ jobs.Plan) (jobs.Mapper[string], error) {
		return digitsMapper{p}, nil
	},
	Merge: func(left, right string) (string, error) {
		if strings.HasPrefix(left, "fail") {
			return "", errors.New("cannot merge")
		}
		return left + right, nil
	},
	Finish: func(_ context.Context, p digitsParams, root string) (string, error) {
		if p.Fail == "finish" {
			return "", errors.New("cannot finish")
		}
		return root, nil
	},
})

type digitsMapper struct{ p digitsParams }

func (m digitsMapper) Map(_ context.Context, partition uint64) (string, error) {
	if m.p.Fail == "map" && partition == 3 {
		return "", errors.New("cannot map")
	}
	if m.p.Fail == "merge" && partition == 0 {
		return "fail", nil
	}
	return fmt.Sprintf("%d,%s", partition, strings.Repeat(".", m.p.Pad)), nil
}

// cluster provides NATS and storage for the leaders and workers of one test.
type cluster struct {
	t        *testing.T
	nc       *nats.Conn
	subjects wire.Subjects
	blobs    *memory.Blobs
	queue    *memory.Queue
	store    *store.Store
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	subjects, err := wire.NewSubjects("test")
	if err != nil {
		t.Fatal(err)
	}
	nc := natstest.Connect(t, natstest.StartOptions(t, server.Options{}).ClientURL())
	c := &cluster{t: t, nc: nc, subjects: subjects, blobs: memory.NewBlobs(), queue: memory.NewQueue(time.Second)}
	c.store = store.New(store.Config{Blobs: c.blobs, Queue: c.queue})
	return c
}

// leader is a coordinator that leads a term.
type leader struct {
	kill      context.CancelFunc // ends the leader so that the other processes see a crash
	stop      func()
	done      chan struct{}
	successor string
	err       error
	deposed   atomic.Uint64 // epoch that deposed the leader
}

func (c *cluster) lead(epoch uint64, kinds ...jobs.Job) *leader {
	c.t.Helper()
	return c.leadAs(epoch, func(cfg *coordinator.Config) {
		if kinds != nil {
			cfg.Jobs = kinds
		}
	})
}

// leadAs starts a leader whose configuration the function change modifies.
func (c *cluster) leadAs(epoch uint64, change func(*coordinator.Config)) *leader {
	c.t.Helper()
	return c.leadUnder(context.Background(), epoch, change)
}

func (c *cluster) leadUnder(ctx context.Context, epoch uint64, change func(*coordinator.Config)) *leader {
	c.t.Helper()
	cfg := coordinator.Config{
		Config: term.Config{
			Worker: fmt.Sprintf("leader-%d", epoch), Store: c.store, Jobs: []jobs.Job{digits},
			Logger:      slog.New(slog.NewTextHandler(c.t.Output(), nil)),
			ExtendEvery: 200 * time.Millisecond,
			Ledger:      ledger.Config{CheckpointEvery: time.Millisecond, RetryAfter: time.Millisecond, RetryAtMost: time.Millisecond},
		},
		Subjects: c.subjects, Conn: c.nc,
	}
	change(&cfg)
	lead, err := coordinator.New(cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	granted := election.Term{Record: election.Record{Epoch: epoch, LeaseID: fmt.Sprint("lease-", epoch)}, Cause: election.First, Since: time.Now()}
	if epoch > 1 {
		granted.Cause = election.Died
	}
	ctx, kill := context.WithCancel(ctx)
	stopping := make(chan struct{})
	l := &leader{kill: kill, stop: sync.OnceFunc(func() { close(stopping) }), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		l.successor, l.err = lead.Lead(ctx, election.NewTerm(granted, election.TermControl{
			Stopping: stopping, Deposed: func(epoch uint64) { l.deposed.Store(epoch); kill() },
		}))
	}()
	c.t.Cleanup(func() { kill(); <-l.done })
	return l
}

func (c *cluster) submit(params ...string) string {
	c.t.Helper()
	p, err := digits.Params(nil, params...)
	if err != nil {
		c.t.Fatal(err)
	}
	spec := store.Spec{
		ID: store.NewID(time.Now()), Job: digits.Name(), Version: digits.Version(), Params: p,
		MaxAttempts: 2, Submitted: time.Now().UTC().Truncate(time.Microsecond),
	}
	if err := c.store.Submit(context.Background(), spec); err != nil {
		c.t.Fatal(err)
	}
	return spec.ID
}

// await waits until ok accepts the job's manifest, and returns the manifest.
func (c *cluster) await(job string, what string, ok func(store.Manifest) bool) store.Manifest {
	c.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		m, _, err := c.store.Manifest(context.Background(), job)
		if err == nil && ok(m) {
			return m
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("waiting for %s: manifest %+v, error %v", what, m, err)
		}
		time.Sleep(time.Millisecond)
	}
}

func (c *cluster) awaitEnd(job string) store.Manifest {
	c.t.Helper()
	return c.await(job, "the job's end", func(m store.Manifest) bool { return m.State.Final() })
}

// wantResult waits for the end of a job, and checks that its result equals that of a run in one
// process and that index, queue and partials contain nothing of the job.
func (c *cluster) wantResult(job string, params ...string) store.Manifest {
	c.t.Helper()
	m := c.awaitEnd(job)
	if m.State != store.Completed {
		c.t.Fatalf("job is %s: %s", m.State, m.Error)
	}
	p, err := digits.Params(nil, params...)
	if err != nil {
		c.t.Fatal(err)
	}
	want, err := jobs.Local{Slots: 1, Attempts: 1}.Run(context.Background(), digits, p)
	if err != nil {
		c.t.Fatal(err)
	}
	got, err := c.store.Result(context.Background(), job, "")
	if err != nil {
		c.t.Fatal(err)
	}
	if string(got) != string(want.Result) {
		c.t.Errorf("result is %.200s, want %.200s", got, want.Result)
	}
	c.awaitCleanUp()
	return m
}

// awaitCleanUp waits until no job is in the index or the queue, and the only blobs with partials are the kept
// ones, which a retry of a failed job needs.
func (c *cluster) awaitCleanUp(kept ...string) {
	c.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		active, err := c.store.Active(context.Background())
		if err != nil {
			c.t.Fatal(err)
		}
		partials, err := c.blobs.List(context.Background(), "partial/")
		if err != nil {
			c.t.Fatal(err)
		}
		if len(active) == 0 && c.queue.Len() == 0 && slices.Equal(partials, kept) {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("left behind: active %v, %d messages, partials %v", active, c.queue.Len(), partials)
		}
		time.Sleep(time.Millisecond)
	}
}

func (c *cluster) ask(subject string, question []byte) *nats.Msg {
	c.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		msg, err := c.nc.Request(subject, question, 5*time.Second)
		if err == nil {
			return msg
		}
		if !errors.Is(err, nats.ErrNoResponders) || time.Now().After(deadline) {
			c.t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

func (c *cluster) cancel(job string) error {
	c.t.Helper()
	done, err := wire.Decode[wire.Done](c.ask(c.subjects.Ask(wire.AskCancel), wire.Encode(wire.Cancel{Job: job})).Data)
	if err != nil {
		c.t.Fatal(err)
	}
	if done.Error != "" {
		return errors.New(done.Error)
	}
	return nil
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

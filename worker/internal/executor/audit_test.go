package executor

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// fastAudits shortens the time after which an auditor counts as dead.
func fastAudits(t *timing, _ *session.Timing) { t.auditAlive = 50 * time.Millisecond }

// auditFleet is a worker w, an auditor b, and a leader that has all partitions audited.
type auditFleet struct {
	*leader
	nc   *nats.Conn
	w, b *running
}

func startAuditFleet(t *testing.T, here, there jobs.Job, auditors ...string) auditFleet {
	t.Helper()
	nc := connect(t, startServer(t, -1).ClientURL())
	f := auditFleet{nc: nc}
	f.w = startWorker(t, nc, noStore{t}, 2, []jobs.Job{here}, fastAudits)
	f.b = startWorker(t, nc, noStore{t}, 1, []jobs.Job{there}, fastAudits, func(c *Config) { c.ID = "b" })
	f.leader = startLeader(t, nc, 1)
	f.audit, f.auditors = true, auditors
	f.awaitWorker("b")
	return f
}

// awaitWorker waits until a worker can answer requests.
func (f auditFleet) awaitWorker(id string) {
	f.wait("worker "+id, func() bool { return slices.Contains(f.others, id) })
}

// counting returns a job that counts the calls of Map.
func counting(calls *atomic.Int64) jobs.Job {
	return sum("sum", func(context.Context, uint64) error { calls.Add(1); return nil })
}

func TestAnotherWorkerAudits(t *testing.T) {
	var here, there atomic.Int64
	job := counting(&here)
	f := startAuditFleet(t, job, counting(&there), "nobody", "b")
	f.assign("j", job, 0, 5000, all(5000))
	f.wait("everything finished", func() bool { return f.has("j", 5000, all(5000)) })
	wantSum(t, f.leader, "j", job, 5000)
	if here.Load() != 5000 || there.Load() != 5000 {
		t.Errorf("%d calls here and %d by the auditor, want 5000 each", here.Load(), there.Load())
	}
}

func TestAuditWithoutAnotherWorker(t *testing.T) {
	for _, alone := range []bool{false, true} {
		var here, there atomic.Int64
		job := counting(&here)
		f := startAuditFleet(t, job, counting(&there), "nobody")
		partitions := uint64(100)
		if f.alone = alone; alone { // the partition may end the auditor's process
			f.auditors, partitions = []string{"b"}, 1
		}
		f.assign("j", job, 0, partitions, all(partitions))
		f.wait("everything finished", func() bool { return f.has("j", partitions, all(partitions)) })
		if here.Load() != 2*int64(partitions) || there.Load() != 0 {
			t.Errorf("alone %v: %d calls here and %d by the auditor", alone, here.Load(), there.Load())
		}
	}
}

func TestAuditFindsWhatDependsOnTheWorker(t *testing.T) {
	there := jobs.MustNew(jobs.Definition[struct{}, uint64, uint64]{
		Name: "sum", Version: "1",
		Plan:   func(context.Context, struct{}) (jobs.Plan, error) { return jobs.Plan{Partitions: 1000}, nil },
		Open:   func(context.Context, struct{}, jobs.Plan) (jobs.Mapper[uint64], error) { return doubling{}, nil },
		Merge:  func(left, right uint64) (uint64, error) { return left + right, nil },
		Finish: func(_ context.Context, _ struct{}, root uint64) (uint64, error) { return root, nil },
	})
	f := startAuditFleet(t, sum("sum", nil), there, "b")
	f.assign("j", sum("sum", nil), 0, 10, engine.Span{Lo: 3, Hi: 10})
	f.wait("a failure", func() bool { return len(f.failures) > 0 })
	got := f.failures[0]
	want := "audit: the partition was computed twice, by worker w and by worker b, and the partials have the SHA-256 "
	if got.Partition != 3 || !got.Permanent || !strings.HasPrefix(got.Error, want) || f.nodes["j"] != nil {
		t.Errorf("got %+v, and nodes %v", got, f.nodes["j"])
	}
}

type doubling struct{}

func (doubling) Map(_ context.Context, partition uint64) (uint64, error) { return 2 * partition, nil }

func TestAuditorFails(t *testing.T) {
	there := sum("sum", func(_ context.Context, p uint64) error {
		if p == 5 {
			panic("broken")
		}
		return nil
	})
	f := startAuditFleet(t, sum("sum", nil), there, "b")
	f.assign("j", sum("sum", nil), 0, 10, engine.Span{Lo: 5, Hi: 10})
	f.wait("a failure", func() bool { return len(f.failures) > 0 })
	if got := f.failures[0]; got.Partition != 5 || got.Permanent || !strings.HasPrefix(got.Error, "worker b: audit: panic: broken") {
		t.Errorf("got %+v", got)
	}
}

// TestAuditorDies has an auditor that begins and then no longer listens. The job may have ended its
// process, so the attempt has failed.
func TestAuditorDies(t *testing.T) {
	f := startAuditFleet(t, sum("sum", nil), sum("sum", nil), "dying")
	var sub *nats.Subscription
	sub, err := f.nc.Subscribe(f.subjects.Audit("dying"), func(m *nats.Msg) {
		_ = m.Respond(wire.Encode(wire.AuditAnswer{Working: true}))
		_ = sub.Unsubscribe()
	})
	if err != nil {
		t.Fatal(err)
	}
	f.assign("j", sum("sum", nil), 0, 10, engine.Span{Lo: 7, Hi: 8})
	f.wait("a failure", func() bool { return len(f.failures) > 0 })
	if got := f.failures[0]; got.Partition != 7 || got.Permanent || got.Error != "audit: worker dying did not finish the second computation" {
		t.Errorf("got %+v", got)
	}
}

// TestAuditorIsSlowToAnswer has requests and answers lost, and other answers that are no answers.
func TestAuditorIsSlowToAnswer(t *testing.T) {
	var there atomic.Int64
	f := startAuditFleet(t, sum("sum", nil), counting(&there), "slow")
	requests := 0
	sub, err := f.nc.Subscribe(f.subjects.Audit("slow"), func(m *nats.Msg) {
		switch requests++; requests {
		case 1:
		case 2:
			_ = m.Respond([]byte("no answer"))
			_ = m.Respond(wire.Encode(wire.AuditAnswer{Sums: [][]byte{{1}}}))
			_ = m.Respond(wire.Encode(wire.AuditAnswer{Working: true}))
		default:
			_ = f.nc.PublishRequest(f.subjects.Audit("b"), m.Reply, m.Data)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Unsubscribe() })
	f.assign("j", sum("sum", nil), 0, 1, all(1))
	f.wait("everything finished", func() bool { return f.has("j", 1, all(1)) })
	if there.Load() == 0 || len(f.failures) > 0 {
		t.Errorf("%d calls by the auditor, failures %v", there.Load(), f.failures)
	}
}

// TestAuditorCannotReadRequest checks that an auditor answers a request of another format at once,
// because the worker that asked would wait for the answer.
func TestAuditorCannotReadRequest(t *testing.T) {
	f := startAuditFleet(t, sum("sum", nil), sum("sum", nil))
	m, err := f.nc.Request(f.subjects.Audit("b"), []byte("no request"), patience)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := wire.Decode[wire.AuditAnswer](m.Data)
	if err != nil || answer.Working || answer.Sums != nil || answer.Failure != nil {
		t.Errorf("got %+v, %v", answer, err)
	}
}

// TestAuditorIsBusy has an auditor with one slot work for much longer than auditors may be silent. Two
// slots wait for it.
func TestAuditorIsBusy(t *testing.T) {
	var here, there atomic.Int64
	release := make(chan struct{})
	busy := sum("sum", func(context.Context, uint64) error {
		there.Add(1)
		<-release
		return nil
	})
	f := startAuditFleet(t, counting(&here), busy, "b")
	var mu sync.Mutex
	working := map[string]int{} // number of messages, by the subject of the waiting slot
	sub, err := f.nc.Subscribe("_INBOX.>", func(m *nats.Msg) {
		if answer, err := wire.Decode[wire.AuditAnswer](m.Data); err == nil && answer.Working {
			mu.Lock()
			defer mu.Unlock()
			working[m.Subject]++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Unsubscribe() })
	var requests atomic.Int64
	asked, err := f.nc.Subscribe(f.subjects.Audit("b"), func(*nats.Msg) { requests.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = asked.Unsubscribe() })
	f.assign("j", counting(&here), 0, 2, engine.Span{Lo: 0, Hi: 1}, engine.Span{Lo: 1, Hi: 2})
	f.wait("20 messages to each slot", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(working) == 2 && slices.Min(slices.Collect(maps.Values(working))) >= 20
	})
	close(release)
	f.wait("everything finished", func() bool { return f.has("j", 2, all(2)) })
	if here.Load() != 2 || there.Load() < 2 || len(f.failures) > 0 {
		t.Errorf("%d calls here and %d by the auditor, failures %v", here.Load(), there.Load(), f.failures)
	}
	// On a busy machine a slot may hear nothing for a moment and repeat its request, but the auditor
	// computes nothing without a request.
	for deadline := time.Now().Add(patience); there.Load() > requests.Load(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d calls by the auditor after %d requests", there.Load(), requests.Load())
		}
	}
}

// unavailable is a store that cannot be reached.
type unavailable struct{ noStore }

func (unavailable) Plan(context.Context, string) (store.Plan, error) {
	return store.Plan{}, store.ErrUnavailable
}

// TestAuditorHasNoStorage checks that another worker is asked if an auditor cannot read the plan.
func TestAuditorHasNoStorage(t *testing.T) {
	d := definition("sum", nil, nil)
	d.Limits.Open = 20 * time.Millisecond
	w := startWorker(t, connect(t, startServer(t, -1).ClientURL()), unavailable{noStore{t}}, 1, []jobs.Job{jobs.MustNew(d)}, nil)
	l := startLeader(t, w.nc, 1)
	l.wait("a report", func() bool { return len(l.reports) > 0 })
	opening := wire.Opening{Job: "j", Kind: wire.JobKind{Name: "sum", Version: "1"}, Params: jobs.Params("{}"), Partitions: 5, InStore: true}
	answer := w.audits.compute(t.Context(), wire.AuditRequest{Opening: opening, Partitions: []uint64{3}})
	if answer.Sums != nil || answer.Failure != nil {
		t.Errorf("got %+v, want an empty answer", answer)
	}
}

// TestAuditEndsWithTheJob checks that an auditor stops if the worker that asked no longer waits.
func TestAuditEndsWithTheJob(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	there := sum("sum", func(ctx context.Context, _ uint64) error {
		close(began)
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	})
	f := startAuditFleet(t, sum("sum", nil), there, "b")
	f.assign("j", sum("sum", nil), 0, 1, all(1))
	<-began
	f.order(func(r *wire.Receipt) { r.Jobs = append(r.Jobs, wire.JobReceipt{Job: "j", Ended: true}) })
	<-ended
}

// TestAuditorStops checks that another worker is asked if an auditor stops.
func TestAuditorStops(t *testing.T) {
	began := make(chan struct{})
	there := sum("sum", func(ctx context.Context, _ uint64) error {
		close(began)
		<-ctx.Done()
		return ctx.Err()
	})
	var third atomic.Int64
	f := startAuditFleet(t, sum("sum", nil), there, "b", "c")
	startWorker(t, f.nc, noStore{t}, 1, []jobs.Job{counting(&third)}, fastAudits, func(c *Config) { c.ID = "c" })
	f.awaitWorker("c")
	f.assign("j", sum("sum", nil), 0, 1, all(1))
	<-began
	f.b.kill()
	f.wait("everything finished", func() bool { return f.has("j", 1, all(1)) })
	if third.Load() != 1 || len(f.failures) > 0 {
		t.Errorf("%d calls by the other auditor, failures %v", third.Load(), f.failures)
	}
}

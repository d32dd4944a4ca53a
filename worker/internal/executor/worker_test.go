package executor

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

func all(partitions uint64) engine.Span { return engine.Span{Lo: 0, Hi: partitions} }

// wantSum fails the test if the received partials do not merge to the sum of all partitions.
func wantSum(t *testing.T, l *leader, id string, job jobs.Job, partitions uint64) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	got, _, err := job.Engine().Finish(context.Background(), jobs.Params("{}"), engine.Operand{Data: l.result(id, job, partitions)})
	if want := fmt.Sprint(partitions * (partitions + 1) / 2); err != nil || string(got) != want {
		t.Errorf("result: got %s, %v, want %s", got, err, want)
	}
}

func TestRunsWhatItIsAssigned(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	job := sum("sum", nil)
	w := startWorker(t, nc, noStore{t}, 2, []jobs.Job{job}, nil)
	l := startLeader(t, nc, 3)
	l.durable = true
	const n = 100_003
	l.assign("j", job, 0, n, engine.Span{Lo: 0, Hi: 40_000}, engine.Span{Lo: 40_000, Hi: 99_999}, engine.Span{Lo: 99_999, Hi: n})
	l.wait("everything finished", func() bool { return l.has("j", n, all(n)) })
	wantSum(t, l, "j", job, n)
	l.wait("nothing held", func() bool { return len(l.last().Spans) == 0 })
	l.mu.Lock()
	hello := l.reports[0].Hello
	l.mu.Unlock()
	if hello == nil || hello.Host != "here" || hello.Slots != 2 || len(hello.Knows) != 1 || hello.Knows[0].Name != "sum" || hello.Build != wire.ThisBuild() {
		t.Errorf("hello: got %+v", hello)
	}
	if err := w.leave(); err != nil {
		t.Errorf("run: %v", err)
	}
	want := Status{ID: "w", Connected: true, Epoch: 3, Answered: true, Draining: true, Slots: 2, Usable: 2}
	if got := w.Status(); got != want {
		t.Errorf("status: got %+v, want %+v", got, want)
	}
	if last := l.reports[len(l.reports)-1]; !last.Draining || len(last.Spans) != 0 {
		t.Errorf("last report: got %+v, want one that drains and holds nothing", last)
	}
}

func TestAsksWhoLeads(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	l := startLeader(t, nc, 4) // the leader's beacon comes before the worker starts
	startWorker(t, nc, noStore{t}, 1, []jobs.Job{sum("sum", nil)}, nil)
	l.wait("a report", func() bool { return len(l.reports) > 0 })
}

func TestResendsUntilAnswered(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	job := sum("sum", nil)
	l := startLeader(t, nc, 1)
	l.mute = 2
	l.assign("j", job, 0, 1000, all(1000))
	startWorker(t, nc, noStore{t}, 1, []jobs.Job{job}, nil)
	l.wait("the first report answered", func() bool { return l.sequence > 1 })
	l.mu.Lock()
	l.mute = 2
	l.mu.Unlock()
	l.wait("everything finished", func() bool { return l.has("j", 1000, all(1000)) })
	wantSum(t, l, "j", job, 1000)
}

func TestGoesOnWithoutALeaderAndReportsToTheNextOne(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	const n = 500
	var executed [n]atomic.Int32
	gate := make(chan struct{})
	job := sum("sum", func(_ context.Context, p uint64) error {
		executed[p].Add(1)
		if p == 100 {
			<-gate
		}
		return nil
	})
	w := startWorker(t, nc, noStore{t}, 1, []jobs.Job{job}, nil)
	open := sync.OnceFunc(func() { close(gate) })
	defer open()
	old := startLeader(t, nc, 1)
	first := old.assign("j", job, 0, n, engine.Span{Lo: 0, Hi: 300}, engine.Span{Lo: 300, Hi: n})
	old.wait("a part reported", func() bool { s, ok := old.held(first); return ok && s.Running })
	old.stop()
	open()
	for w.Status().Busy > 0 || w.Status().Queued > 0 {
		time.Sleep(time.Millisecond) // interval between checks of the status
	}
	if s := w.Status(); s.Items == 0 || s.Bytes == 0 {
		t.Errorf("status: got %+v, want items kept", s)
	}
	next := startLeader(t, nc, 2)
	next.wait("everything", func() bool { return next.has("j", n, all(n)) })
	wantSum(t, next, "j", job, n)
	for p := range executed {
		if got := executed[p].Load(); got != 1 {
			t.Errorf("partition %d was run %d times", p, got)
		}
	}
	old.beacon() // the worker ignores the beacon
	next.nudge()
	next.mu.Lock()
	before := len(next.reports)
	next.mu.Unlock()
	next.wait("more reports", func() bool { return len(next.reports) > before+1 })
}

func TestCutOfALongPartitionIsConfirmedAtOnce(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	begun, gate := make(chan struct{}), make(chan struct{})
	job := sum("sum", func(_ context.Context, p uint64) error {
		if p == 4 {
			close(begun)
			<-gate
		}
		time.Sleep(2 * time.Millisecond) // each partition takes long
		return nil
	})
	startWorker(t, nc, noStore{t}, 1, []jobs.Job{job}, nil)
	l := startLeader(t, nc, 1)
	defer close(gate)
	id := l.assign("j", job, 0, 1000, all(1000))
	<-begun
	l.order(func(r *wire.Receipt) { r.Cuts = []wire.Cut{{ID: id, Hi: 2}} })
	l.wait("the cut confirmed", func() bool { s, _ := l.held(id); return s.Span.Hi == 5 })
	gate <- struct{}{}
	l.wait("the rest", func() bool { _, held := l.held(id); return !held && l.has("j", 1000, engine.Span{Lo: 0, Hi: 5}) })
}

func TestReportsProgressOfFastAndSlowPartitions(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	gate := make(chan struct{})
	job := sum("sum", func(_ context.Context, p uint64) error {
		if p == 700 {
			<-gate
		}
		return nil
	})
	startWorker(t, nc, noStore{t}, 2, []jobs.Job{job}, nil)
	l := startLeader(t, nc, 1)
	open := sync.OnceFunc(func() { close(gate) })
	defer open()
	l.assign("j", job, 0, 1<<40, engine.Span{Lo: 0, Hi: 1000})
	fast := l.assign("j", job, 0, 1<<40, engine.Span{Lo: 1 << 30, Hi: 1 << 39})
	var seen []uint64
	l.wait("three advances of the fast span", func() bool {
		if s, ok := l.held(fast); ok && s.Span.Lo > 1<<30 && (len(seen) == 0 || s.Span.Lo > seen[len(seen)-1]) {
			seen = append(seen, s.Span.Lo)
		}
		return len(seen) == 3
	})
	for _, lo := range seen {
		if !l.has("j", 1<<40, engine.Span{Lo: 1 << 30, Hi: lo}) {
			t.Errorf("the span was at %d before its items came", lo)
		}
	}
	open()
	l.wait("the slow span", func() bool { return l.has("j", 1<<40, engine.Span{Lo: 0, Hi: 1000}) })
	l.order(func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "j", Ended: true}} })
	l.wait("the job dropped", func() bool { return len(l.last().Spans) == 0 })
}

func TestProbeIsAnswered(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	startWorker(t, nc, noStore{t}, 1, []jobs.Job{sum("sum", nil)}, nil)
	l := startLeader(t, nc, 6)
	l.mu.Lock()
	l.every = time.Hour
	l.mu.Unlock()
	l.wait("the first report", func() bool { return len(l.reports) > 0 })
	for _, epoch := range []uint64{6, 5} {
		m, err := nc.Request(l.subjects.Probe("w"), wire.Encode(wire.Probe{Epoch: epoch}), patience)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := wire.Decode[wire.ProbeAnswer](m.Data)
		if err != nil || answer != (wire.ProbeAnswer{Epoch: 6, Worker: "w"}) {
			t.Errorf("probe of epoch %d: got %+v, %v", epoch, answer, err)
		}
	}
	l.wait("the report that was asked for", func() bool { return len(l.reports) == 2 })
}

func TestFailures(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	job := sum("sum", func(_ context.Context, p uint64) error {
		switch p {
		case 3:
			return errors.New("three is bad")
		case 5:
			return jobs.Permanent(errors.New("five is hopeless"))
		case 7, 8:
			panic(strings.Repeat("seven eight ", 1000))
		}
		return nil
	})
	w := startWorker(t, nc, noStore{t}, 1, []jobs.Job{job}, nil)
	l := startLeader(t, nc, 1)
	l.assign("j", job, 0, 10, all(10))
	l.wait("all failures", func() bool { return len(l.failures) == 4 && l.has("j", 10, engine.Span{Lo: 9, Hi: 10}) })
	for i, want := range []wire.Failure{
		{Partition: 3, Error: "three is bad"}, {Partition: 5, Error: "five is hopeless", Permanent: true}, {Partition: 7}, {Partition: 8},
	} {
		got := l.failures[i]
		if want.Error == "" {
			if len(got.Error) != wire.MaxErrorText || !strings.HasPrefix(got.Error, "panic: seven eight") {
				t.Errorf("failure of %d: got %d bytes: %.40s", got.Partition, len(got.Error), got.Error)
			}
			want.Error = got.Error
		}
		if want.Took = got.Took; got.Took <= 0 {
			t.Errorf("failure of %d took no time", got.Partition)
		}
		if got != want {
			t.Errorf("failure %d: got %+v, want %+v", i, got, want)
		}
	}
	for p := range uint64(10) {
		if failed := p == 3 || p == 5 || p == 7 || p == 8; l.has("j", 10, engine.Span{Lo: p, Hi: p + 1}) == failed {
			t.Errorf("partition %d: failed %v and finished %v", p, failed, !failed)
		}
	}
	if got := strings.Count(w.log.String(), "panicked"); got != 1 {
		t.Errorf("%d panics were logged, want the first alone", got)
	}
}

func TestFailedMergeGivesUpTheSpan(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	d := definition("sum", nil, nil)
	d.Merge = func(left, right uint64) (uint64, error) {
		if right == 8 {
			return 0, errors.New("cannot merge")
		}
		return left + right, nil
	}
	job := jobs.MustNew(d)
	startWorker(t, nc, noStore{t}, 1, []jobs.Job{job}, nil)
	l := startLeader(t, nc, 1)
	id := l.assign("j", job, 0, 10, engine.Span{Lo: 4, Hi: 10})
	l.wait("the failure", func() bool { return len(l.failures) == 1 })
	if f := l.failures[0]; !f.Permanent || f.Partition > 7 || !strings.Contains(f.Error, "cannot merge") {
		t.Errorf("got %+v", f)
	}
	l.wait("the span given up", func() bool { _, held := l.held(id); return !held })
}

func TestFailureToOpenIsReportedOncePerAttempt(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	d := definition("sum", nil, nil)
	var attempts atomic.Int32
	open := d.Open
	d.Open = func(ctx context.Context, p struct{}, plan jobs.Plan) (jobs.Mapper[uint64], error) {
		if attempts.Add(1) == 1 {
			return nil, jobs.Permanent(errors.New("no licence"))
		}
		return open(ctx, p, plan)
	}
	job := jobs.MustNew(d)
	startWorker(t, nc, noStore{t}, 2, []jobs.Job{job}, nil)
	l := startLeader(t, nc, 1)
	l.assign("j", job, 0, 100, engine.Span{Lo: 0, Hi: 50}, engine.Span{Lo: 50, Hi: 100})
	l.wait("the failure", func() bool { return len(l.failures) == 1 && len(l.last().Spans) == 0 })
	if f := l.failures[0]; f.Function != wire.Open || !f.Permanent || !strings.Contains(f.Error, "no licence") {
		t.Errorf("got %+v", f)
	}
	l.assign("j", job, 0, 100, all(100))
	l.wait("everything at the second attempt", func() bool { return l.has("j", 100, all(100)) })

	other := jobs.MustNew(definition("other", nil, nil))
	l.assign("k", other, 0, 100, all(100))
	l.wait("the second failure", func() bool { return len(l.failures) == 2 })
	if f := l.failures[1]; f.Function != wire.Open || f.Permanent || !strings.Contains(f.Error, "other version 1 is not known to this worker, which knows sum version 1") {
		t.Errorf("got %+v", f)
	}
	if got := attempts.Load(); got != 2 {
		t.Errorf("opened %d times, want 2", got)
	}
}

func TestEndedJobIsCancelledAndClosed(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	closed := make(chan struct{})
	begun := make(chan struct{}, 2)
	var returned atomic.Int32
	job := jobs.MustNew(definition("sum", func(ctx context.Context, _ uint64) error {
		begun <- struct{}{}
		<-ctx.Done()
		returned.Add(1)
		return ctx.Err()
	}, func() { close(closed) }))
	w := startWorker(t, nc, noStore{t}, 2, []jobs.Job{job}, nil)
	l := startLeader(t, nc, 1)
	l.assign("j", job, 0, 100, engine.Span{Lo: 0, Hi: 50}, engine.Span{Lo: 50, Hi: 90}, engine.Span{Lo: 90, Hi: 100})
	<-begun
	<-begun
	l.order(func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "j", Ended: true}} })
	<-closed
	if got := returned.Load(); got != 2 {
		t.Errorf("closed while %d of 2 had returned", got)
	}
	l.wait("nothing held", func() bool { return len(l.last().Spans) == 0 })
	if len(l.failures) != 0 {
		t.Errorf("failures: got %+v, want none", l.failures)
	}
	if s := w.Status(); s.Items != 0 || s.Queued != 0 {
		t.Errorf("status: got %+v, want nothing left", s)
	}
}

// The worker of the leader's process closes an ended job only after the delay, or when the worker
// stops.
func TestLeadersWorkerClosesLater(t *testing.T) {
	for _, delay := range []time.Duration{time.Millisecond, time.Hour} {
		nc := connect(t, startServer(t, -1).ClientURL())
		closed := make(chan struct{})
		job := jobs.MustNew(definition("sum", nil, func() { close(closed) }))
		w := startWorker(t, nc, noStore{t}, 1, []jobs.Job{job}, func(own *timing, _ *session.Timing) { own.closeDelay = delay },
			func(c *Config) { c.Leads = func() bool { return true } })
		l := startLeader(t, nc, 1)
		l.assign("j", job, 0, 1, all(1))
		l.wait("the partition", func() bool { return l.has("j", 1, all(1)) })
		l.order(func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "j", Ended: true}} })
		if delay == time.Millisecond {
			<-closed
		}
		l.wait("nothing held", func() bool { return len(l.last().Spans) == 0 })
		select {
		case <-closed:
			if delay == time.Hour {
				t.Error("closed before the delay had passed")
			}
		default:
		}
		if err := w.leave(); err != nil {
			t.Fatal(err)
		}
		<-closed
	}
}

// cleaningMapper signals when it cleans up.
type cleaningMapper struct {
	mapper
	cleaned chan struct{}
}

func (m cleaningMapper) CleanUp(context.Context) error {
	close(m.cleaned)
	return nil
}

// A worker cleans up after a job that has ended, but not after a job that continues without the
// worker.
func TestCleansUpAfterTheJobsEnd(t *testing.T) {
	for _, ends := range []bool{true, false} {
		nc := connect(t, startServer(t, -1).ClientURL())
		begun, closed, cleaned := make(chan struct{}), make(chan struct{}), make(chan struct{})
		d := definition("sum", nil, nil)
		d.Open = func(context.Context, struct{}, jobs.Plan) (jobs.Mapper[uint64], error) {
			return cleaningMapper{mapper{func(ctx context.Context, _ uint64) error {
				close(begun)
				<-ctx.Done()
				return ctx.Err()
			}, func() { close(closed) }}, cleaned}, nil
		}
		job := jobs.MustNew(d)
		w := startWorker(t, nc, noStore{t}, 1, []jobs.Job{job}, nil)
		l := startLeader(t, nc, 1)
		l.assign("j", job, 0, 1, all(1))
		<-begun
		if ends {
			l.order(func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "j", Ended: true}} })
			<-cleaned
			<-closed // CleanUp is called after Close
		}
		if err := w.leave(); err != nil {
			t.Fatal(err)
		}
		<-closed
		select {
		case <-cleaned:
			if !ends {
				t.Error("cleaned up after a job that has not ended")
			}
		default:
		}
	}
}

func TestHigherPriorityGetsASlotAtThePartitionBoundary(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	low, high := sum("low", nil), sum("high", nil)
	startWorker(t, nc, noStore{t}, 1, []jobs.Job{low, high}, nil)
	l := startLeader(t, nc, 1)
	const huge = 1 << 50
	id := l.assign("l", low, 0, huge, all(huge))
	l.wait("the low one runs", func() bool { s, _ := l.held(id); return s.Running && s.Span.Lo > 0 })
	l.assign("h", high, 1, 1000, all(1000))
	l.wait("the high one done", func() bool { return l.has("h", 1000, all(1000)) })
	at := l.last().Spans[0].Span.Lo
	l.wait("the low one goes on", func() bool { s, _ := l.held(id); return s.Running && s.Span.Lo > at })
	l.order(func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "l", Ended: true}} })
}

func TestJobsOfOnePriorityTakeTurns(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	one, two := sum("one", nil), sum("two", nil)
	startWorker(t, nc, noStore{t}, 1, []jobs.Job{one, two}, func(own *timing, _ *session.Timing) { own.slice = 20 * time.Millisecond })
	l := startLeader(t, nc, 1)
	const huge = 1 << 50
	ids := []wire.SpanID{l.assign("1", one, 0, huge, all(huge)), l.assign("2", two, 0, huge, all(huge))}
	turns, last := 0, wire.SpanID{}
	l.wait("four changes of turn", func() bool {
		for _, id := range ids {
			if s, _ := l.held(id); s.Running && id != last {
				last = id
				turns++
			}
		}
		return turns > 4
	})
	l.order(func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "1", Ended: true}, {Job: "2", Ended: true}} })
}

// slowStore is a store that is unavailable at first.
type slowStore struct {
	put  func(context.Context) // called when a partial is to be stored, unless nil
	mute bool                  // partials are stored, but the answers are lost

	manifest store.Manifest // manifest of each job, which was removed if the manifest has no state

	mu      sync.Mutex
	away    int // number of calls that fail before the store is available
	params  jobs.Params
	plan    jobs.Plan
	blobs   [][]byte
	dropped []string
}

func (s *slowStore) here() error {
	if s.away--; s.away >= 0 {
		return fmt.Errorf("away: %w", store.ErrUnavailable)
	}
	return nil
}

func (s *slowStore) Spec(_ context.Context, id string) (store.StoredSpec, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return store.StoredSpec{Spec: store.Spec{ID: id, Params: s.params}}, s.here()
}

func (s *slowStore) Plan(context.Context, string) (store.Plan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return store.Plan{Plan: s.plan}, s.here()
}

func (s *slowStore) PutPartial(ctx context.Context, _ string, _ engine.Node, data []byte) (string, error) {
	if s.put != nil {
		s.put(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.here(); err != nil {
		return "", err
	}
	s.blobs = append(s.blobs, data)
	name := fmt.Sprintf("%064x", len(s.blobs))
	if s.mute {
		return name, fmt.Errorf("lost: %w", store.ErrUnavailable)
	}
	return name, nil
}

func (s *slowStore) Partial(context.Context, string, string) ([]byte, error) {
	return nil, store.ErrNotFound
}

func (s *slowStore) Manifest(context.Context, string) (store.Manifest, store.Version, error) {
	if s.manifest.State == "" {
		return store.Manifest{}, "", store.ErrNotFound
	}
	return s.manifest, "", nil
}

func (s *slowStore) DropPartial(_ context.Context, _, blob string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped = append(s.dropped, blob)
	return nil
}

func (s *slowStore) DropOtherPartials(context.Context, string, map[string]bool) error { return nil }

func (s *slowStore) PutSpill(context.Context, string, []byte) (string, error) {
	panic("not implemented")
}

func (s *slowStore) Spill(context.Context, string, string) ([]byte, error) { panic("not implemented") }

// lump is a job whose partials are as large as its plan's data.
func lump() jobs.Job {
	return jobs.MustNew(jobs.Definition[struct{}, []byte, int]{
		Name: "lump", Version: "1",
		Plan: func(context.Context, struct{}) (jobs.Plan, error) { return jobs.Plan{Partitions: 1}, nil },
		Open: func(_ context.Context, _ struct{}, plan jobs.Plan) (jobs.Mapper[[]byte], error) {
			return lumpMapper(plan.Data), nil
		},
		Merge:  func(left, _ []byte) ([]byte, error) { return left, nil },
		Finish: func(_ context.Context, _ struct{}, root []byte) (int, error) { return len(root), nil },
	})
}

type lumpMapper []byte

func (m lumpMapper) Map(context.Context, uint64) ([]byte, error) { return m, nil }

func TestLargePlansAndPartialsGoThroughTheStore(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	data := bytes.Repeat([]byte("x"), 2<<20)
	st := &slowStore{away: 1, plan: jobs.Plan{Partitions: 4, Data: data}}
	job := lump()
	startWorker(t, nc, st, 1, []jobs.Job{job}, nil)
	l := startLeader(t, nc, 1)
	l.order(func(r *wire.Receipt) {
		r.Opens = []wire.Opening{{Job: "j", Kind: wire.JobKind{Name: "lump", Version: "1"}, Params: jobs.Params("{}"), Partitions: 4, InStore: true}}
		r.Assigned = []wire.Assignment{{ID: wire.SpanID{Epoch: 1, Number: 1}, Job: "j", Span: all(4)}}
	})
	l.wait("everything", func() bool { return l.has("j", 4, all(4)) })
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, blob := range l.blobs["j"] {
		if blob == "" || len(l.nodes["j"][n]) != 0 {
			t.Errorf("node %v: got blob %q and %d bytes", n, blob, len(l.nodes["j"][n]))
		}
	}
	if len(st.blobs) == 0 || len(st.blobs[0]) < len(data) {
		t.Errorf("stored %d partials", len(st.blobs))
	}
}

// TestLargeParametersAreReadFromTheStore opens a job whose parameters are not in the message, and a
// job whose stored parameters differ from the leader's.
func TestLargeParametersAreReadFromTheStore(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	type params struct {
		Note string `json:"note"`
	}
	opened := make(chan string, 2)
	job := jobs.MustNew(jobs.Definition[params, uint64, uint64]{
		Name: "noted", Version: "1",
		Plan: func(context.Context, params) (jobs.Plan, error) { return jobs.Plan{Partitions: 1}, nil },
		Open: func(_ context.Context, p params, _ jobs.Plan) (jobs.Mapper[uint64], error) {
			opened <- p.Note
			return mapper{}, nil
		},
		Merge:  func(left, right uint64) (uint64, error) { return left + right, nil },
		Finish: func(_ context.Context, _ params, root uint64) (uint64, error) { return root, nil },
	})
	note := strings.Repeat("<", 300_000)
	stored, err := job.Params(nil, "note="+note)
	if err != nil {
		t.Fatal(err)
	}
	st := &slowStore{away: 1, params: stored}
	startWorker(t, nc, st, 1, []jobs.Job{job}, nil)
	l := startLeader(t, nc, 1)
	sum := sha256.Sum256(st.params)
	l.order(func(r *wire.Receipt) {
		r.Opens = []wire.Opening{
			{Job: "j", Kind: wire.JobKind{Name: "noted", Version: "1"}, Params: wire.ParamsInStore, Partitions: 1, ParamsSHA256: sum[:]},
			{Job: "forged", Kind: wire.JobKind{Name: "noted", Version: "1"}, Params: wire.ParamsInStore, Partitions: 1, ParamsSHA256: []byte("another")},
		}
		r.Assigned = []wire.Assignment{
			{ID: wire.SpanID{Epoch: 1, Number: 1}, Job: "j", Span: all(1)},
			{ID: wire.SpanID{Epoch: 1, Number: 2}, Job: "forged", Span: all(1)},
		}
	})
	l.wait("the failure", func() bool { return len(l.failures) == 1 && l.has("j", 1, all(1)) })
	if f := l.failures[0]; f.Function != wire.Open || !strings.Contains(f.Error, "not those that the leader read") {
		t.Errorf("got %+v", f)
	}
	if got := <-opened; got != note || len(opened) > 0 {
		t.Errorf("opened with %d bytes, and %d more times", len(got), len(opened))
	}
}

// narrowStore refuses all partials because of their size.
type narrowStore struct{ slowStore }

func (*narrowStore) PutPartial(_ context.Context, _ string, _ engine.Node, data []byte) (string, error) {
	return "", fmt.Errorf("%w: %d bytes", store.ErrTooLarge, len(data))
}

func TestPartialTooLargeForStorageFailsTheJob(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	st := &narrowStore{slowStore{plan: jobs.Plan{Partitions: 1, Data: make([]byte, 2<<20)}}}
	startWorker(t, nc, st, 1, []jobs.Job{lump()}, nil)
	l := startLeader(t, nc, 1)
	l.order(assignLump)
	l.wait("the failure", func() bool { return len(l.failures) == 1 })
	size := 2<<20 + 5 // the encoded partial begins with a head of 5 bytes
	if f, want := l.failures[0], fmt.Sprintf("node 0/0 of job j, %d bytes: write partial: too large for storage", size); !f.Permanent || !strings.Contains(f.Error, want) {
		t.Errorf("got %+v, want a permanent failure with %q", f, want)
	}
}

func TestOutputTooLargeForStorage(t *testing.T) {
	w := &core{store: &narrowStore{}, cfg: Config{Logger: slog.New(slog.DiscardHandler)}}
	_, err := jobStorage{w, "j", t.Context()}.writeOutput(wire.Finish, make([]byte, 300_000))
	if want := "function Finish of job j, 300000 bytes: write output: too large for storage"; !jobs.IsPermanent(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want a permanent error with %q", err, want)
	}
}

// textMapper maps every partition to a string that the codec refuses.
type textMapper struct{}

func (textMapper) Map(context.Context, uint64) (string, error) {
	time.Sleep(time.Millisecond)
	return "\xff", nil
}

// A partial that cannot be decoded fails the job with the first report, before the leader merges
// it.
func TestUndecodablePartialFailsTheJobAtTheFirstReport(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	job := jobs.MustNew(jobs.Definition[struct{}, string, int]{
		Name: "text", Version: "1",
		Plan:   func(context.Context, struct{}) (jobs.Plan, error) { return jobs.Plan{Partitions: 1}, nil },
		Open:   func(context.Context, struct{}, jobs.Plan) (jobs.Mapper[string], error) { return textMapper{}, nil },
		Merge:  func(left, _ string) (string, error) { return left, nil },
		Finish: func(context.Context, struct{}, string) (int, error) { return 0, nil },
	})
	startWorker(t, nc, noStore{t}, 1, []jobs.Job{job}, nil)
	l := startLeader(t, nc, 1)
	const n = 1_000_000 // each partition takes a millisecond
	l.assign("j", job, 0, n, all(n))
	l.wait("the failure", func() bool { return len(l.failures) == 1 })
	if f := l.failures[0]; !f.Permanent || !strings.Contains(f.Error, `string "\xff" is not UTF-8`) {
		t.Errorf("got %+v", f)
	}
}

// A partial that is stored after its job has ended must be removed.
func TestPartialStoredAfterTheJobsEndIsRemoved(t *testing.T) {
	t.Run("answered", func(t *testing.T) { testStoredAfterTheEnd(t, false) })
	t.Run("answer lost", func(t *testing.T) { testStoredAfterTheEnd(t, true) })
}

func testStoredAfterTheEnd(t *testing.T, mute bool) {
	nc := connect(t, startServer(t, -1).ClientURL())
	st, begun, hold := slowWrite(t)
	st.mute = mute
	w := startWorker(t, nc, st, 1, []jobs.Job{lump()}, nil)
	l := startLeader(t, nc, 1)
	l.order(assignLump)
	<-begun
	l.order(func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "j", Ended: true}} })
	l.nudge()
	l.wait("the end to be heard", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.tasks.byJob["j"] == nil
	})
	close(hold)
	l.wait("the removal", st.droppedFirst)
}

// slowWrite returns a store whose first write of a partial begins and then waits until hold is closed.
func slowWrite(t *testing.T) (st *slowStore, begun, hold chan struct{}) {
	begun, hold = make(chan struct{}), make(chan struct{})
	put := func(ctx context.Context) {
		close(begun)
		<-hold
		if err := ctx.Err(); err != nil {
			t.Errorf("the write was cut: %v; it may take effect after the removal", err)
		}
	}
	return &slowStore{plan: jobs.Plan{Partitions: 1, Data: make([]byte, 2<<20)}, put: put}, begun, hold
}

// assignLump orders a worker to compute the only partition of a job of the kind that lump returns. The job has the ID j.
func assignLump(r *wire.Receipt) {
	r.Opens = []wire.Opening{{Job: "j", Kind: wire.JobKind{Name: "lump", Version: "1"}, Params: jobs.Params("{}"), Partitions: 1, InStore: true}}
	r.Assigned = []wire.Assignment{{ID: wire.SpanID{Epoch: 1, Number: 1}, Job: "j", Span: all(1)}}
}

// droppedFirst reports whether exactly the first partial was removed.
func (s *slowStore) droppedFirst() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Equal(s.dropped, []string{fmt.Sprintf("%064x", 1)})
}

// A worker that leaves finishes a write that has begun, because a write that was cut may take effect after the clean-up
// of the job. The write is not code of a job that does not return, even if it takes longer than stopTimeout. If the job
// has ended, the worker removes what it wrote. Otherwise the clean-up will find it.
func TestWriteThatEndsAfterTheWorkerHasLeft(t *testing.T) {
	for _, test := range []struct {
		state   store.State
		removed bool
	}{{"", true}, {store.Completed, true}, {store.Running, false}} {
		t.Run("job "+cmp.Or(string(test.state), "removed"), func(t *testing.T) {
			nc := connect(t, startServer(t, -1).ClientURL())
			st, begun, hold := slowWrite(t)
			st.manifest.State = test.state
			w := startWorker(t, nc, st, 1, []jobs.Job{lump()}, func(own *timing, c *session.Timing) {
				own.stopTimeout, c.LeaveTimeout = 10*time.Millisecond, 10*time.Millisecond
			})
			l := startLeader(t, nc, 1)
			l.order(assignLump)
			<-begun
			w.stop()
			for deadline := time.Now().Add(patience); !w.hasLeft(); time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the worker does not leave")
				}
			}
			close(hold)
			if err := w.ended(); err != nil {
				t.Errorf("run: %v", err)
			}
			if st.droppedFirst() != test.removed || len(st.blobs) != 1 {
				t.Errorf("%d blobs were written and %q removed, want one written and removed: %v", len(st.blobs), st.dropped, test.removed)
			}
		})
	}
}

// hasLeft reports whether the worker has left its leader.
func (r *running) hasLeft() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.quit
}

// The leader may have removed the job's partials before late partials were stored.
func TestPartialsNotDurableAtTheJobsEndAreRemoved(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	st := &slowStore{plan: jobs.Plan{Partitions: 1, Data: make([]byte, 2<<20)}}
	startWorker(t, nc, st, 1, []jobs.Job{lump()}, nil)
	l := startLeader(t, nc, 1)
	l.order(assignLump)
	l.wait("the partial", func() bool { return l.has("j", 1, all(1)) })
	l.order(func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "j", Ended: true}} })
	l.nudge()
	l.wait("the removal", st.droppedFirst)
}

func TestStoredPlanWithOtherPartitionsIsRefused(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	startWorker(t, nc, &slowStore{plan: jobs.Plan{Partitions: 5}}, 1, []jobs.Job{lump()}, nil)
	l := startLeader(t, nc, 1)
	l.order(func(r *wire.Receipt) {
		r.Opens = []wire.Opening{{Job: "j", Kind: wire.JobKind{Name: "lump", Version: "1"}, Params: jobs.Params("{}"), Partitions: 4, InStore: true}}
		r.Assigned = []wire.Assignment{{ID: wire.SpanID{Epoch: 1, Number: 1}, Job: "j", Span: all(4)}}
	})
	l.wait("the failure", func() bool { return len(l.failures) == 1 })
	if f := l.failures[0]; f.Function != wire.Open || !strings.Contains(f.Error, "5 partitions, the leader says 4") {
		t.Errorf("got %+v", f)
	}
}

func TestManyItemsAreSplitOverReports(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	job := lump()
	w := startWorker(t, nc, noStore{t}, 1, []jobs.Job{job}, nil)
	old := startLeader(t, nc, 1)
	const n = 10
	old.order(func(r *wire.Receipt) {
		r.Opens = []wire.Opening{{Job: "j", Kind: wire.JobKind{Name: "lump", Version: "1"}, Params: jobs.Params("{}"), Partitions: n, Data: make([]byte, 200<<10)}}
		for p := range uint64(n) { // separate spans are not merged
			r.Assigned = append(r.Assigned, wire.Assignment{ID: wire.SpanID{Epoch: 1, Number: p + 1}, Job: "j", Span: engine.Span{Lo: p, Hi: p + 1}})
		}
	})
	old.wait("everything", func() bool { return len(old.nodes["j"]) == n })
	old.stop()
	if s := w.Status(); s.Items != n {
		t.Errorf("keeps %d items, want %d", s.Items, n)
	}
	next := startLeader(t, nc, 2)
	next.wait("everything again", func() bool { return len(next.nodes["j"]) == n && !next.last().More })
	if got := len(next.reports); got < 4 {
		t.Errorf("2 MB came in %d reports", got)
	}
}

func TestStartsOverWhenRefused(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	job := sum("sum", nil)
	w := startWorker(t, nc, noStore{t}, 1, []jobs.Job{job}, nil)
	l := startLeader(t, nc, 1)
	l.assign("j", job, 0, 1000, all(500))
	l.wait("the first half", func() bool { return l.has("j", 1000, all(500)) })
	l.mu.Lock()
	l.nodes = map[string]map[engine.Node][]byte{}
	l.refuse = 3
	l.mu.Unlock()
	l.wait("the first half again", func() bool { return l.has("j", 1000, all(500)) })
	l.assign("j", job, 0, 1000, engine.Span{Lo: 500, Hi: 1000})
	l.wait("everything", func() bool { return l.has("j", 1000, all(1000)) })
	wantSum(t, l, "j", job, 1000)
	if got := strings.Count(w.log.String(), "who are you?"); got != 1 {
		t.Errorf("%d lines of refusals in the log, want one for now", got)
	}
}

func TestMalformedMessagesAreRefused(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	job := sum("sum", nil)
	w := startWorker(t, nc, noStore{t}, 1, []jobs.Job{job}, nil)
	l := startLeader(t, nc, 1)
	l.wait("the first report", func() bool { return len(l.reports) > 0 })
	for _, data := range [][]byte{nil, []byte("garbage"), {99, 0xa0}, {1, 0xa0}, bytes.Repeat([]byte{1}, 1<<20)} {
		l.publish(l.subjects.Beacon(), data)
		l.publish(l.subjects.Nudge("w"), data)
		l.publish(l.subjects.Probe("w"), data)
	}
	l.mu.Lock()
	l.garbled = 1
	l.mu.Unlock()
	l.assign("j", job, 0, 1000, all(1000))
	l.wait("everything", func() bool { return l.has("j", 1000, all(1000)) })
	if got := strings.Count(w.log.String(), "Message refused"); got < 2 || got > 4 {
		t.Errorf("%d lines of refusals in the log, want one per kind:\n%s", got, w.log)
	}
}

// The leader compares the worker's NATS server with its own when the worker is absent.
func TestReportNamesTheServer(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	l := startLeader(t, nc, 1)
	startWorker(t, nc, noStore{t}, 1, []jobs.Job{sum("sum", nil)}, nil)
	l.wait("a report", func() bool { return len(l.reports) > 0 })
	if got, want := l.last().Server, nc.ConnectedServerId(); got != want || got == "" {
		t.Errorf("the report names the server %q, want %q", got, want)
	}
}

func TestGoesOnWhenNATSComesBack(t *testing.T) {
	s := runServer(t, -1)
	t.Cleanup(func() { natstest.Stop(s) }) // after the leader has stopped, because the leader's Flush waits up to 10 s for a server
	nc := connect(t, s.ClientURL())
	job := sum("sum", nil)
	w := startWorker(t, nc, noStore{t}, 1, []jobs.Job{job}, nil)
	l := startLeader(t, nc, 1)
	l.wait("the first report", func() bool { return len(l.reports) > 0 })
	natstest.Stop(s)
	for w.Status().Connected {
		time.Sleep(time.Millisecond) // interval between checks of the status
	}
	if w.Status().Answered {
		t.Error("answered without a connection")
	}
	s = runServer(t, natstest.Port(t, s.ClientURL()))
	for !w.Status().Connected {
		time.Sleep(time.Millisecond)
	}
	l.assign("j", job, 0, 1000, all(1000))
	l.wait("everything", func() bool { return l.has("j", 1000, all(1000)) })
}

func TestEndsWhenTheConnectionIsClosed(t *testing.T) {
	s := startServer(t, -1)
	nc, mine := connect(t, s.ClientURL()), connect(t, s.ClientURL())
	w := startWorker(t, mine, noStore{t}, 1, []jobs.Job{sum("sum", nil)}, nil)
	l := startLeader(t, nc, 1)
	l.wait("the first report", func() bool { return len(l.reports) > 0 })
	mine.Close()
	if err := w.ended(); !errors.Is(err, errDisconnected) {
		t.Errorf("got %v, want %v", err, errDisconnected)
	}
}

// TestBeaconOfAnEpochThatNoLeaderHas makes the worker follow an epoch that no leader has. The
// worker reads the lease's record, twice because the first read fails, and returns to the real
// leader with its results.
func TestBeaconOfAnEpochThatNoLeaderHas(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	job := sum("sum", nil)
	l := startLeader(t, nc, 3)
	l.durable = true
	var reads atomic.Int64
	reset := make(chan struct{})
	w := startWorker(t, nc, noStore{t}, 1, []jobs.Job{job}, func(_ *timing, conversation *session.Timing) {
		conversation.RecordAfter = 20 * time.Millisecond
		conversation.MaxRecordPause = 20 * time.Millisecond
	}, func(cfg *Config) {
		cfg.ReadEpoch = func(ctx context.Context) (uint64, error) {
			if reads.Add(1) == 1 {
				return 0, errors.New("no answer from storage")
			}
			select {
			case <-reset:
				return 3, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
	})
	l.wait("a report", func() bool { return len(l.reports) > 0 })
	l.publish(l.subjects.Beacon(), wire.Encode(wire.Beacon{Epoch: 1 << 40, Worker: "nobody"}))
	for deadline := time.Now().Add(patience); w.Status().Epoch != 1<<40; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the worker does not follow the beacon")
		}
	}
	l.mu.Lock()
	l.renews = true // reports of the old conversation may still arrive
	l.mu.Unlock()
	close(reset)
	l.assign("j", job, 0, 1000, all(1000))
	l.wait("everything finished", func() bool { return l.has("j", 1000, all(1000)) })
	for _, want := range []string{`msg="Cannot read the lease's record" error="no answer from storage"`, "epoch=3 was=1099511627776"} {
		if log := w.log.String(); !strings.Contains(log, want) {
			t.Errorf("the log is %s, want %s in it", log, want)
		}
	}
}

// TestCallBesideSlots makes calls while a call that does not return occupies the only slot for calls. A call
// that returns counts, and a call that does not return in its time is reported as slow.
func TestCallBesideSlots(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	d := definition("hangs", nil, nil)
	d.Plan = func(ctx context.Context, _ struct{}) (jobs.Plan, error) {
		<-ctx.Done()
		return jobs.Plan{}, ctx.Err()
	}
	hangs, short := jobs.MustNew(d), sum("short", nil)
	startWorker(t, nc, noStore{t}, 1, []jobs.Job{hangs, short}, nil)
	l := startLeader(t, nc, 1)
	call := func(id string, job jobs.Job, within time.Duration) {
		l.order(func(r *wire.Receipt) {
			l.number++
			r.Opens = append(r.Opens, wire.Opening{Job: id, Kind: wire.JobKind{Name: job.Name(), Version: job.Version()}, Params: jobs.Params("{}")})
			r.Assigned = append(r.Assigned, wire.Assignment{
				ID: wire.SpanID{Epoch: 1, Number: l.number}, Job: id, Call: &wire.Call{Function: wire.Plan, Within: within},
			})
		})
	}
	call("a", hangs, 0)
	l.wait("the call runs", func() bool { spans := l.last().Spans; return len(spans) == 1 && spans[0].Running })
	call("b", short, time.Hour)
	l.wait("the call beside it has returned", func() bool {
		return slices.ContainsFunc(l.reports, func(r wire.Report) bool {
			return slices.ContainsFunc(r.Jobs, func(j wire.JobReport) bool { return j.Job == "b" && j.Items[0].Output != nil })
		})
	})
	call("c", hangs, time.Millisecond)
	l.wait("the failure of a slow call", func() bool { return len(l.failures) == 1 })
	if !l.failures[0].Slow {
		t.Errorf("got %+v, want a slow call", l.failures[0])
	}
	l.order(func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "a", Ended: true}} })
}

package executor

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

func TestDrainEndsAtAPartitionBoundaryAndWaitsUntilDurable(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	begun, gate := make(chan struct{}), make(chan struct{})
	job := sum("sum", func(_ context.Context, p uint64) error {
		if p == 0 {
			close(begun)
			<-gate
		}
		return nil
	})
	w := startWorker(t, nc, noStore{t}, 1, []jobs.Job{job}, func(_ *timing, c *session.Timing) { c.DrainTimeout = patience })
	l := startLeader(t, nc, 1)
	open := sync.OnceFunc(func() { close(gate) })
	defer open()
	running := l.assign("j", job, 0, 100, engine.Span{Lo: 0, Hi: 50}, engine.Span{Lo: 50, Hi: 100})
	<-begun
	w.stop()
	l.wait("the queued span given back", func() bool { _, held := l.held(running); return l.last().Draining && held && len(l.last().Spans) == 1 })
	open()
	l.wait("everything given back", func() bool { return len(l.last().Spans) == 0 })
	if !l.has("j", 100, engine.Span{Lo: 0, Hi: 1}) || l.has("j", 100, engine.Span{Lo: 0, Hi: 2}) {
		t.Error("want the partition that ran and no more")
	}
	select {
	case err := <-w.end:
		t.Fatalf("left before its items were durable: %v", err)
	default:
	}
	l.mu.Lock()
	l.durable = true
	l.mu.Unlock()
	if err := w.ended(); err != nil {
		t.Errorf("run: %v", err)
	}
}

func TestDrainWithoutALeader(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	w := startWorker(t, nc, noStore{t}, 1, []jobs.Job{sum("sum", nil)}, func(_ *timing, c *session.Timing) { c.DrainTimeout = time.Hour })
	if err := w.leave(); err != nil {
		t.Errorf("run: %v", err)
	}
}

func TestDrainAfterTheLeaderIsGone(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	job := sum("sum", nil)
	w := startWorker(t, nc, noStore{t}, 1, []jobs.Job{job}, nil)
	l := startLeader(t, nc, 1)
	l.assign("j", job, 0, 100, all(100))
	l.wait("everything", func() bool { return l.has("j", 100, all(100)) })
	l.stop()
	if err := w.leave(); err != nil {
		t.Errorf("run: %v", err)
	}
	if !strings.Contains(w.log.String(), "Leaving before") {
		t.Errorf("the log does not say what is lost:\n%s", w.log)
	}
}

func TestDrainCancelsWhatTakesTooLong(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	begun := make(chan struct{})
	job := sum("sum", func(ctx context.Context, p uint64) error {
		if p < 3 {
			return nil
		}
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	})
	w := startWorker(t, nc, noStore{t}, 1, []jobs.Job{job}, nil)
	l := startLeader(t, nc, 1)
	l.durable = true
	l.assign("j", job, 0, 100, all(100))
	<-begun
	if err := w.leave(); err != nil {
		t.Errorf("run: %v", err)
	}
	if !l.has("j", 100, engine.Span{Lo: 0, Hi: 3}) || len(l.failures) != 0 || len(l.last().Spans) != 0 {
		t.Errorf("want three partitions, no failure and nothing held; got %+v", l.last())
	}
}

func TestDrainLeavesStuckCodeBehind(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	begun, gate := make(chan struct{}), make(chan struct{})
	defer close(gate)
	job := sum("sum", func(context.Context, uint64) error {
		close(begun)
		<-gate
		return errors.New("late")
	})
	w := startWorker(t, nc, noStore{t}, 1, []jobs.Job{job}, func(own *timing, c *session.Timing) {
		own.stopTimeout, c.LeaveTimeout = 50*time.Millisecond, 50*time.Millisecond
	})
	l := startLeader(t, nc, 1)
	l.assign("j", job, 0, 100, all(100))
	<-begun
	if err := w.leave(); !errors.Is(err, ErrStuck) {
		t.Errorf("got %v, want ErrStuck", err)
	}
}

// TestLeavesIfNoSlotIsUsable runs code that ignores the end of its context in the only slot. The worker
// keeps the slot if the code returns late, as a program of exec that handles SIGTERM does, and leaves if
// the code does not return.
func TestLeavesIfNoSlotIsUsable(t *testing.T) {
	nc := connect(t, startServer(t, -1).ClientURL())
	var begun atomic.Int64
	late, stuck := make(chan struct{}), make(chan struct{})
	defer close(stuck)
	job := sum("sum", func(context.Context, uint64) error {
		switch begun.Add(1) {
		case 1:
			<-late
		case 2:
			<-stuck
		}
		return nil
	})
	w := startWorker(t, nc, noStore{t}, 1, []jobs.Job{job}, func(own *timing, c *session.Timing) {
		own.stopTimeout, own.unusableFor = time.Millisecond, time.Hour
		c.LeaveTimeout = 50 * time.Millisecond
	})
	usable := func() int { return w.Status().Usable }
	l := startLeader(t, nc, 1)
	l.assign("late", job, 0, 1, all(1))
	l.wait("the job runs", func() bool { return begun.Load() == 1 })
	l.order(func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "late", Ended: true}} })
	l.wait("the slot is lost", func() bool { return usable() == 0 })
	close(late)
	l.wait("the slot is usable again", func() bool { return usable() == 1 })

	w.mu.Lock()
	if w.unusable != nil {
		t.Error("the worker with a usable slot would leave")
	}
	w.timing.unusableFor = time.Millisecond
	w.mu.Unlock()
	l.assign("stuck", job, 0, 1, all(1))
	l.wait("the job runs", func() bool { return begun.Load() == 2 })
	l.order(func(r *wire.Receipt) { r.Jobs = []wire.JobReceipt{{Job: "stuck", Ended: true}} })
	if err := w.ended(); !errors.Is(err, ErrStuck) {
		t.Errorf("got %v, want ErrStuck", err)
	}
	if log := w.log.String(); !strings.Contains(log, "No slot is usable") {
		t.Errorf("the log is %s, want the reason", log)
	}
}

// slowRemovals is a store whose removals of partials take long.
type slowRemovals struct {
	slowStore
	begun chan struct{}
	take  time.Duration
}

func (s *slowRemovals) DropPartial(ctx context.Context, job, blob string) error {
	close(s.begun)
	select {
	case <-time.After(s.take):
		return s.slowStore.DropPartial(ctx, job, blob)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leaveRemoving stops a worker that is removing a blob of an ended job.
func leaveRemoving(t *testing.T, st *slowRemovals, stopTimeout time.Duration, edit func(*Config)) *running {
	t.Helper()
	nc := connect(t, startServer(t, -1).ClientURL())
	w := startWorker(t, nc, st, 1, []jobs.Job{sum("sum", nil)}, func(own *timing, _ *session.Timing) { own.stopTimeout = stopTimeout }, edit)
	l := startLeader(t, nc, 1)
	l.wait("a report", func() bool { return len(l.reports) > 0 })
	w.mu.Lock()
	w.dropBlobs("j", []string{"blob"})
	w.mu.Unlock()
	<-st.begun
	if err := w.leave(); err != nil {
		t.Errorf("run: %v", err)
	}
	return w
}

// A removal from storage that takes longer than stopTimeout is not code of a job that does not return.
func TestDrainWaitsForRemovals(t *testing.T) {
	st := &slowRemovals{begun: make(chan struct{}), take: 200 * time.Millisecond}
	leaveRemoving(t, st, 10*time.Millisecond, func(*Config) {})
	if len(st.dropped) != 1 {
		t.Errorf("%d blobs were removed, want 1", len(st.dropped))
	}
}

func TestDrainGivesUpRemovals(t *testing.T) {
	st := &slowRemovals{begun: make(chan struct{}), take: time.Hour}
	w := leaveRemoving(t, st, time.Minute, func(cfg *Config) { cfg.DrainTimeout = minDrainTimeout })
	if want := `Could not remove a partial of a job that has ended" job=j blob=blob`; !strings.Contains(w.log.String(), want) {
		t.Errorf("the log is %q, want %q in it", w.log, want)
	}
}

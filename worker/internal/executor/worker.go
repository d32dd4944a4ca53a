package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/engine/caches"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/internal/bulk"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// Store has the methods of the cluster's storage that a worker needs. The methods of a Store are
// called from several goroutines.
type Store interface {
	// Spec reads the spec of a submitted job.
	Spec(ctx context.Context, job string) (store.StoredSpec, error)
	// Plan reads the plan of a job.
	Plan(ctx context.Context, job string) (store.Plan, error)
	// PutPartial stores a partial that is too large for a message. The name of the partial's blob
	// is derived from the partial's bytes. PutPartial returns the blob's name even with an error,
	// because the failed write may have taken effect.
	PutPartial(ctx context.Context, job string, node engine.Node, data []byte) (blob string, err error)
	// Partial reads a partial.
	Partial(ctx context.Context, job, blob string) ([]byte, error)
	// PutSpill stores what a partial of a round has moved to storage for the round with the ID next, and returns the name,
	// even with an error.
	PutSpill(ctx context.Context, next string, data []byte) (name string, err error)
	// Spill reads what PutSpill has stored.
	Spill(ctx context.Context, round, name string) ([]byte, error)
	// Manifest reads the manifest of a job.
	Manifest(ctx context.Context, job string) (store.Manifest, store.Version, error)
	// DropPartial removes a partial. It is called only after the partial's job has ended.
	DropPartial(ctx context.Context, job, blob string) error
	// DropOtherPartials removes the partials of a job that has ended and of its rounds, except the given blobs.
	DropOtherPartials(ctx context.Context, job string, keep map[string]bool) error
}

// ErrStuck means that a job's code did not return although its context was done. The goroutines of
// code that does not return continue to run, so the process should end.
var ErrStuck = errors.New("a job's code does not return")

// Worker runs the spans that leaders assign.
type Worker struct {
	*core
	partials *partials
	tasks    *tasks
	calls    *calls
	slots    *slots
	audits   *audits

	started time.Time     // start of the worker; the session's times are durations since then
	ping    chan struct{} // unbuffered channel with which Turns detects the next iteration of the link's loop
}

// New checks the configuration and returns a worker. The caller must close the connection after Run
// has returned.
func New(nc *nats.Conn, store Store, cfg Config) (*Worker, error) {
	return newWorker(nc, store, cfg, defaultTiming, session.Timing{})
}

func newWorker(nc *nats.Conn, store Store, cfg Config, timing timing, conversation session.Timing) (*Worker, error) {
	cfg = cfg.withDefaults()
	err := cfg.validate()
	if err == nil && (nc == nil || store == nil) {
		err = errors.New("a connection and a store are needed")
	}
	if err != nil {
		return nil, fmt.Errorf("configure worker: %w", err)
	}
	c := &core{
		cfg: cfg, nc: nc, store: store, timing: timing,
		known: make(map[wire.JobKind]jobs.Job),
		wake:  make(chan struct{}, 1),
		unfit: make(chan struct{}),

		spilled: make(map[string]bool),
	}
	if cfg.Bulk != nil {
		c.bulk = bulk.NewClient(cfg.Bulk)
	}
	c.work = sync.NewCond(&c.mu)
	hello := wire.Hello{Host: cfg.Host, PID: cfg.PID, Slots: cfg.Slots, Since: cfg.Since, Storage: cfg.Storage, Build: wire.ThisBuild(), Version: cfg.Version[:min(len(cfg.Version), wire.MaxVersion)], Holds: cfg.Bulk != nil}
	for _, job := range cfg.Jobs {
		kind := wire.JobKind{Name: job.Name(), Version: job.Version()}
		c.known[kind] = job
		hello.Knows = append(hello.Knows, kind)
	}
	partials, err := newPartials(c)
	if err != nil {
		return nil, fmt.Errorf("configure worker: %w", err)
	}
	conversation.DrainTimeout = cmp.Or(conversation.DrainTimeout, cfg.DrainTimeout)
	c.session, err = session.New(session.Config{Worker: cfg.ID, Hello: hello, Memory: usedMemory, Cores: usedCores(), Timing: conversation})
	if err != nil {
		return nil, fmt.Errorf("configure worker: %w", err)
	}
	tasks := &tasks{core: c, partials: partials, byJob: make(map[string]*task), rounds: make(map[string]*roundsJob)}
	return &Worker{
		core: c, partials: partials, tasks: tasks,
		calls:   &calls{core: c, partials: partials, tasks: tasks, running: make(map[*session.HeldCall]*call)},
		slots:   &slots{core: c, partials: partials, tasks: tasks},
		audits:  &audits{core: c, tasks: tasks, turns: make(chan struct{}, cfg.Slots)},
		started: time.Now(),
		ping:    make(chan struct{}),
	}, nil
}

// now returns the current time on the session's clock.
func (w *Worker) now() time.Duration { return time.Since(w.started) }

// Run executes spans until ctx is done, and then drains: running partitions end, the rest of their
// spans is given back, and results are kept until the leader has made them durable. Draining takes
// at most DrainTimeout. After DrainTimeout, Run cancels the running partitions, whose work is lost,
// and returns within about three seconds.
//
// Run also returns, with an error, when the connection is closed. It continues when the connection
// is lost and restored. It must be called only once.
func (w *Worker) Run(ctx context.Context) error {
	link, err := newLink(w, w.nc)
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	defer link.close()
	if w.partials.held != nil {
		serving, err := bulk.Serve(w.cfg.Bulk, w.cfg.Subjects.Bulk(w.cfg.ID), served{w.partials, w.tasks})
		if err != nil {
			return fmt.Errorf("start worker: %w", err)
		}
		defer w.partials.held.Close()
		defer serving.Close()
		ctx = caches.With(ctx, w.partials.held.Caches())
	}
	w.life, w.kill = context.WithCancel(engine.WithIdle(context.WithoutCancel(ctx), &w.idle))
	defer w.kill()
	w.storageLife, w.endStorage = context.WithCancel(context.WithoutCancel(ctx))
	defer w.endStorage()
	auditing, err := w.audits.serve()
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	defer func() { _ = auditing.Unsubscribe() }() // Unsubscribe fails only if the connection is closed
	w.slots.start()
	err = link.loop(ctx)
	return errors.Join(err, w.stop(link.drainSince))
}

// stop ends all slots and tasks, and waits until their code and their calls of storage have returned.
// Code of a job that runs for longer than the stop timeout is stuck. Storage may be slow, so it
// has the rest of the drain timeout to end the writes that have begun and to remove the data of ended jobs. The
// parameter drainSince is the time at which the worker began to drain, or the zero time.
func (w *Worker) stop(drainSince time.Time) error {
	stopped := time.Now()
	storageFor := max(time.Until(drainSince.Add(w.cfg.DrainTimeout)), w.timing.stopTimeout)
	defer time.AfterFunc(storageFor, w.endStorage).Stop()
	w.mu.Lock()
	w.kill()
	w.quit = true
	w.slots.interrupt(nil)
	w.work.Broadcast()
	w.mu.Unlock()
	done := make(chan struct{})
	go func() {
		w.goroutines.Wait()
		w.removals.Wait()
		close(done)
	}()
	storageEnds := time.After(storageFor + w.timing.stopTimeout) // writes and removals return soon after their context has ended
	for {
		stuckIn := w.timing.stopTimeout
		if began, ok := w.code.oldest(); ok && began.Before(stopped) {
			stuckIn -= time.Since(stopped)
		} else if ok {
			stuckIn -= time.Since(began)
		}
		if stuckIn <= 0 {
			return fmt.Errorf("stop worker: %w", ErrStuck)
		}
		select {
		case <-done:
			return nil
		case <-time.After(stuckIn):
		case <-storageEnds:
			w.cfg.Logger.Warn("Leaving although calls of storage have not returned")
			return nil
		}
	}
}

// direct performs an action of the session that affects slots or tasks. The caller must hold core.mu.
func (w *Worker) direct(action session.Action) {
	switch a := action.(type) {
	case session.CollectFromSlots:
		w.slots.interrupt(nil)
	case session.OpenJob:
		w.tasks.open(a.Opening)
	case session.DropNode:
		if !w.session.HoldsNode(a.Job, a.Node) { // skip the drop if the partial was computed again
			w.partials.held.Drop(a.Job, a.Node)
		}
	case session.StoreNode:
		w.partials.startStoring(a.Held)
	case session.EndJob:
		w.partials.endJob(a.Job)
		w.calls.endJob(a.Job, a.Continues)
		w.dropBlobs(a.Job, a.Blobs)
		if !a.Continues {
			if next := nextRound(a.Job); engine.JobOf(a.Job) != a.Job {
				w.dropBlobs(next, a.Blobs) // they may be states of a round that has not begun
			}
			w.endLog(engine.JobOf(a.Job))
			w.tasks.endRounds(engine.JobOf(a.Job))
			w.endSpills(engine.JobOf(a.Job))
		}
		if t := w.tasks.end(a.Job); t != nil {
			w.slots.interrupt(t)
		}
	case session.WakeSlots:
		w.work.Broadcast()
		w.calls.begin()
	}
}

// checkMemory frees memory if memory is short. It is called when memory becomes short, and after each
// receipt while it is short.
func (w *Worker) checkMemory() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.partials.free(len(w.calls.running) > 0 || w.slots.busy())
	w.work.Broadcast()
}

// Turns waits for an iteration of the link's loop, which shows that the loop does not hang. It
// returns an error if ctx is done first.
func (w *Worker) Turns(ctx context.Context) error {
	select {
	case w.ping <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errors.New("the worker's loop does not turn")
	}
}

// Status returns the state of the worker.
func (w *Worker) Status() Status {
	connected := w.nc.IsConnected()
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.session
	items, bytes := s.Kept()
	usable, _ := s.Usable()
	nodes, held := s.Held()
	return Status{
		ID: w.cfg.ID, Connected: connected, Epoch: s.Epoch(), Answered: s.Answered() && connected, Draining: s.Draining(),
		Slots: w.cfg.Slots, Usable: usable, Busy: s.Busy(), Queued: s.Queued(), Items: items, Bytes: bytes, Nodes: nodes, Held: held,
	}
}

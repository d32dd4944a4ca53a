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
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/internal/bulk"
	"github.com/bellwether-compute/bellwether/worker/internal/holdings"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// Store has the methods of the cluster's storage that a worker needs. The methods of a Store are
// called from several goroutines.
type Store interface {
	// Spec reads the spec of a submitted job.
	Spec(ctx context.Context, job string) (store.StoredSpec, error)
	// Plan reads the plan of a job.
	Plan(ctx context.Context, job string) (jobs.Plan, error)
	// PutPartial stores a partial that is too large for a message. The name of the partial's blob
	// is derived from the partial's bytes. PutPartial returns the blob's name even with an error,
	// because the failed write may have taken effect.
	PutPartial(ctx context.Context, job string, node jobs.Node, data []byte) (blob string, err error)
	// Partial reads a partial.
	Partial(ctx context.Context, job, blob string) ([]byte, error)
	// DropPartial removes a partial. DropPartial is called only after the partial's job has ended.
	DropPartial(ctx context.Context, job, blob string) error
}

// ErrStuck means that a job's code did not return although its context was done. The goroutines of
// code that does not return continue to run, so the process should end.
var ErrStuck = errors.New("a job's code does not return")

// Worker runs the spans that leaders assign.
type Worker struct {
	cfg     Config
	nc      *nats.Conn
	store   Store
	known   map[wire.JobKind]jobs.Job
	timing  timing
	started time.Time // start of the worker; the session's times are durations since then

	// life is a context that ends when the worker stops its partitions, job openings and writes.
	life context.Context
	kill context.CancelFunc

	// removing is a context that ends when removals from storage must end. It ends later than life,
	// because a removal that does not take place leaves data in storage for ever.
	removing    context.Context
	endRemovals context.CancelFunc

	goroutines sync.WaitGroup // counts the goroutines of slots and tasks
	removals   sync.WaitGroup // counts the goroutines that remove data of ended jobs from storage
	code       runningCode    // calls of jobs' code, which run on some of the goroutines

	wake  chan struct{} // wakes the link, which then calls the session's Step; the buffer has one element
	ping  chan struct{} // unbuffered channel with which Turns detects the next iteration of the link's loop
	unfit chan struct{} // closed when no slot is usable, or when no more calls can be made

	sizes      sizes              // partial sizes of recent jobs
	expansions expansions         // sizes of decoded partials
	held       *holdings.Holdings // holdings of large partials; nil if the worker holds none
	memory     chan struct{}      // wakes the link to check the memory; the buffer has one element
	storeTurns chan struct{}      // semaphore for writes of held partials
	auditTurns chan struct{}      // semaphore for second computations for other workers

	mu          sync.Mutex // guards the fields below; never held during slow operations
	work        *sync.Cond // signalled when a slot may find a span, or when quit is set
	session     *session.Session
	tasks       map[string]*task // by job ID
	calls       map[*session.HeldCall]*call
	stores      map[*storing]bool
	unstorable  map[heldKey]error // held partials that are too large for storage
	stored      uint64            // number of held partials that were written to storage
	stuckSince  time.Time         // time since when memory is full of partials that cannot be moved; zero if it is not
	undelivered int               // large partials that the worker will hold and that the session does not have yet
	slots       []*slot
	quit        bool // slots return and no call begins

	audits     int // number of unanswered requests for second computations
	lostAudits int // number of second computations that do not return
}

// timing contains the worker's durations, except the durations of the conversation with the leader.
type timing struct {
	claim       time.Duration // approximate duration of the partitions in one claim
	slice       time.Duration // how long a job keeps a slot while another job of the same priority has no slot
	stopTimeout time.Duration // how long a job's code may take to return after its context is done
	auditAlive  time.Duration // time between two messages of an auditor that is still working; after ten times as long it counts as dead
	stuckFor    time.Duration // how long memory may be full of partials that cannot be moved before their jobs fail
	closeDelay  time.Duration // how much later than other workers the worker of the leader's process closes an ended job
	logEvery    time.Duration // shortest time between two log lines about the same kind of problem
}

var defaultTiming = timing{
	claim:       time.Millisecond,
	slice:       time.Second,
	stopTimeout: time.Second,
	auditAlive:  time.Second,
	stuckFor:    30 * time.Second, // longer than holdings wait before they write to the spill folder again
	closeDelay:  time.Second,
	logEvery:    10 * time.Second,
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
	w := &Worker{
		cfg: cfg, nc: nc, store: store, timing: timing, started: time.Now(),
		known: make(map[wire.JobKind]jobs.Job),
		tasks: make(map[string]*task),
		calls: make(map[*session.HeldCall]*call),
		unfit: make(chan struct{}),
		wake:  make(chan struct{}, 1),
		ping:  make(chan struct{}),

		memory:     make(chan struct{}, 1),
		stores:     make(map[*storing]bool),
		unstorable: make(map[heldKey]error),
		storeTurns: make(chan struct{}, maxStoring),
		auditTurns: make(chan struct{}, cfg.Slots),
	}
	w.work = sync.NewCond(&w.mu)
	hello := wire.Hello{Host: cfg.Host, PID: cfg.PID, Slots: cfg.Slots, Since: cfg.Since, Storage: cfg.Storage, Build: wire.ThisBuild(), Version: cfg.Version[:min(len(cfg.Version), wire.MaxVersion)], Holds: cfg.Bulk != nil}
	if cfg.Bulk != nil {
		if w.held, err = holdings.New(holdings.Config{Limit: cfg.Memory, Dir: cfg.SpillDir, Logger: cfg.Logger, Changed: w.memoryChanged}); err != nil {
			return nil, fmt.Errorf("configure worker: %w", err)
		}
	}
	for _, job := range cfg.Jobs {
		kind := wire.JobKind{Name: job.Name(), Version: job.Version()}
		w.known[kind] = job
		hello.Knows = append(hello.Knows, kind)
	}
	conversation.DrainTimeout = cmp.Or(conversation.DrainTimeout, cfg.DrainTimeout)
	w.session, err = session.New(session.Config{Worker: cfg.ID, Hello: hello, Timing: conversation})
	if err != nil {
		return nil, fmt.Errorf("configure worker: %w", err)
	}
	return w, nil
}

// now returns the current time on the session's clock.
func (w *Worker) now() time.Duration { return time.Since(w.started) }

// Run executes spans until ctx is done, and then drains: running partitions end, the rest of their
// spans is given back, and results are kept until the leader has made them durable. Draining takes
// at most DrainTimeout. After DrainTimeout, Run cancels the running partitions, whose work is lost,
// and returns within about three seconds.
//
// Run also returns, with an error, when the connection is closed. Run continues when the connection
// is lost and restored. Run must be called only once.
func (w *Worker) Run(ctx context.Context) error {
	link, err := newLink(w, w.nc)
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	defer link.close()
	if w.held != nil {
		serving, err := bulk.Serve(w.cfg.Bulk, w.cfg.Subjects.Bulk(w.cfg.ID), served{w})
		if err != nil {
			return fmt.Errorf("start worker: %w", err)
		}
		defer w.held.Close()
		defer serving.Close()
	}
	w.life, w.kill = context.WithCancel(context.WithoutCancel(ctx))
	defer w.kill()
	w.removing, w.endRemovals = context.WithCancel(context.WithoutCancel(ctx))
	defer w.endRemovals()
	auditing, err := w.serveAudits()
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	defer func() { _ = auditing.Unsubscribe() }() // Unsubscribe fails only if the connection is closed
	w.mu.Lock()
	for number := range w.cfg.Slots {
		s := &slot{w: w, number: number}
		w.slots = append(w.slots, s)
		w.goroutines.Go(s.loop)
	}
	w.mu.Unlock()
	err = link.loop(ctx)
	return errors.Join(err, w.stop(link.drainSince))
}

// stop ends all slots and tasks, and waits until their code and their calls of storage have returned.
// Code of a job that runs for longer than the stop timeout is stuck. Storage may be slow, so it
// has the rest of the drain timeout to store the last partials and to remove the data of ended jobs. The
// parameter drainSince is the time at which the worker began to drain, or the zero time.
func (w *Worker) stop(drainSince time.Time) error {
	stopped := time.Now()
	storageFor := max(time.Until(drainSince.Add(w.cfg.DrainTimeout)), w.timing.stopTimeout)
	defer time.AfterFunc(storageFor, w.endRemovals).Stop()
	w.mu.Lock()
	w.kill()
	w.quit = true
	w.interrupt(nil)
	w.work.Broadcast()
	w.mu.Unlock()
	done := make(chan struct{})
	go func() {
		w.goroutines.Wait()
		w.removals.Wait()
		close(done)
	}()
	storageEnds := time.After(storageFor + w.timing.stopTimeout) // removals return soon after their context has ended
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

// direct performs an action of the session that affects slots or tasks. The caller must hold w.mu.
func (w *Worker) direct(action session.Action) {
	switch a := action.(type) {
	case session.CollectFromSlots:
		w.interrupt(nil)
	case session.OpenJob:
		w.open(a.Opening)
	case session.DropNode:
		if !w.session.HoldsNode(a.Job, a.Node) { // skip the drop if the partial was computed again
			w.held.Drop(a.Job, a.Node)
		}
	case session.StoreNode:
		w.storeHeld(a.Held)
	case session.EndJob:
		w.endHeld(a.Job)
		for _, c := range w.calls {
			if c.opening.Job == a.Job {
				c.ended = true
				c.cancel()
			}
		}
		w.dropBlobs(a.Job, a.Blobs)
		if t := w.tasks[a.Job]; t != nil {
			delete(w.tasks, a.Job)
			t.cancel()
			w.interrupt(t)
		}
	case session.WakeSlots:
		w.work.Broadcast()
		w.beginCalls()
	}
}

// checkUsable makes the worker drain if no slot is usable or no more calls can be made, because a
// new process could use all slots again. The caller must hold w.mu.
func (w *Worker) checkUsable() {
	slots, calls := w.session.Usable()
	if slots > 0 && calls > 0 {
		return
	}
	select {
	case <-w.unfit:
	default:
		close(w.unfit)
	}
}

// interrupt makes busy slots deliver their results at the end of their current partition. If the
// parameter only is not nil, interrupt affects only the slots that run this task. The caller must
// hold w.mu.
func (w *Worker) interrupt(only *task) {
	for _, s := range w.slots {
		if s.task != nil && (only == nil || s.task == only) {
			s.stop.Store(true)
		}
	}
}

// wakeLink wakes the link if a direct call to the session made a report or another action due. The
// caller must hold w.mu.
func (w *Worker) wakeLink() {
	if !w.session.NeedsStep() {
		return
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Turns waits for an iteration of the link's loop, which shows that the loop does not hang. Turns
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

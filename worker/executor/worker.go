package executor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// Store is what a worker needs of the cluster's storage. Its methods are called
// from several goroutines.
type Store interface {
	// Plan reads the plan of a job.
	Plan(ctx context.Context, job string) (jobs.Plan, error)
	// PutPartial stores a partial too large for a message under a name that
	// follows from its content, and that comes with an error too: a write that
	// failed may have been done.
	PutPartial(ctx context.Context, job string, node jobs.Node, data []byte) (blob string, err error)
	// DropPartial removes it, and is called only where the job has ended.
	DropPartial(ctx context.Context, job, blob string) error
}

// ErrStuck: a job's code did not return though its context was done. Its
// goroutines are left behind, so the process should end.
var ErrStuck = errors.New("a job's code does not return")

// Worker runs spans of partitions for whoever leads.
type Worker struct {
	cfg   Config
	nc    *nats.Conn
	store Store
	known map[wire.JobKind]jobs.Job
	pace  pace

	// life ends when what runs is to be cut short: partitions, openings, writes.
	life context.Context
	kill context.CancelFunc
	crew sync.WaitGroup // slots and tasks
	stir chan struct{}  // holds one: the link should look at the book
	look chan struct{}  // holds none: somebody wants to see the link turn

	mu       sync.Mutex // guards what follows; nothing slow is done under it
	work     *sync.Cond // there may be something to take, or quit is set
	book     *session.Book
	tasks    map[string]*task // by job ID
	slots    []*slot
	asked    int  // slots that were asked to hand over and have not
	quit     bool // slots should return
	answered bool // the leader has answered the last report
}

// pace is how the worker times itself.
type pace struct {
	claim       time.Duration // about how long a claim takes to run
	slice       time.Duration // a job keeps a slot while another of its priority has none
	handOver    time.Duration // a report waits for slots to hand over
	spacing     time.Duration // between two reports
	every       time.Duration // between reports, until a leader says
	everyAtMost time.Duration // between reports, whatever a leader says
	draining    time.Duration // between reports while draining, at most
	answer      time.Duration // until a report is sent again
	retryFirst  time.Duration // after a report that nobody listens to or that is refused; doubles
	retryMost   time.Duration // what that grows to; also between questions for the leader
	farewell    time.Duration // for the last words after a drain that took too long, and for the job's code to return
	complain    time.Duration // between two complaints of a kind
}

var defaultPace = pace{
	claim:       time.Millisecond,
	slice:       time.Second,
	handOver:    5 * time.Millisecond,
	spacing:     5 * time.Millisecond,
	every:       200 * time.Millisecond,
	everyAtMost: time.Minute,
	draining:    100 * time.Millisecond,
	answer:      time.Second,
	retryFirst:  10 * time.Millisecond,
	retryMost:   time.Second,
	farewell:    time.Second,
	complain:    10 * time.Second,
}

// New checks the configuration and makes a worker. The connection stays the
// caller's to close, after Run has returned.
func New(nc *nats.Conn, store Store, cfg Config) (*Worker, error) {
	cfg, err := cfg.withDefaults()
	if err == nil && (nc == nil || store == nil) {
		err = errors.New("a connection and a store are needed")
	}
	if err != nil {
		return nil, fmt.Errorf("configure worker: %w", err)
	}
	w := &Worker{
		cfg: cfg, nc: nc, store: store, pace: defaultPace,
		known: make(map[wire.JobKind]jobs.Job),
		tasks: make(map[string]*task),
		stir:  make(chan struct{}, 1),
		look:  make(chan struct{}),
	}
	hello := wire.Hello{Host: cfg.Host, PID: cfg.PID, Slots: cfg.Slots, Since: cfg.Since}
	for _, job := range cfg.Jobs {
		kind := wire.JobKind{Name: job.Name(), Version: job.Version()}
		w.known[kind] = job
		hello.Knows = append(hello.Knows, kind)
	}
	w.work = sync.NewCond(&w.mu)
	w.book = session.New(cfg.ID, hello)
	return w, nil
}

// Run works until ctx is done, and then drains: running partitions end, what is
// left of their spans is given back, and what was computed is kept until the
// leader says that it is durable. That takes DrainTimeout at most; then what
// still runs is cancelled and lost, and Run returns within about two seconds.
//
// It also returns, with an error, when the connection is closed for good. A
// connection that is lost and comes back is no error. Run must be called once.
func (w *Worker) Run(ctx context.Context) error {
	link, err := newLink(w)
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	defer link.close()
	w.life, w.kill = context.WithCancel(context.WithoutCancel(ctx))
	defer w.kill()
	w.mu.Lock()
	for number := range w.cfg.Slots {
		s := &slot{w: w, number: number}
		w.slots = append(w.slots, s)
		w.crew.Go(s.loop)
	}
	w.mu.Unlock()
	err = link.loop(ctx)
	return errors.Join(err, w.dismiss())
}

// dismiss ends the slots and tasks.
func (w *Worker) dismiss() error {
	w.kill()
	w.mu.Lock()
	w.quit = true
	w.book.Drain()
	w.ask(nil)
	w.work.Broadcast()
	w.mu.Unlock()
	done := make(chan struct{})
	go func() {
		w.crew.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-time.After(w.pace.farewell):
		return fmt.Errorf("stop worker: %w", ErrStuck)
	}
}

// ask asks the slots that run something, or something of the task only if it is
// not nil, to hand over. The caller holds the lock.
func (w *Worker) ask(only *task) {
	for _, s := range w.slots {
		if s.task != nil && (only == nil || s.task == only) && !s.asked {
			s.asked = true
			s.stop.Store(true)
			w.asked++
		}
	}
}

// nudge makes the link look at the book.
func (w *Worker) nudge() {
	select {
	case w.stir <- struct{}{}:
	default:
	}
}

// Turns returns once the goroutine that speaks with leaders has taken a turn, and
// with an error if it does not until ctx is done.
func (w *Worker) Turns(ctx context.Context) error {
	select {
	case w.look <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errors.New("the worker's loop stands still")
	}
}

// Status says what the worker does at the moment.
func (w *Worker) Status() Status {
	connected := w.nc.IsConnected()
	w.mu.Lock()
	defer w.mu.Unlock()
	items, bytes := w.book.Kept()
	return Status{
		ID: w.cfg.ID, Connected: connected, Epoch: w.book.Epoch(), Answered: w.answered && connected, Draining: w.book.Draining(),
		Slots: w.cfg.Slots, Busy: w.book.Busy(), Queued: w.book.Queued(), Items: items, Bytes: bytes,
	}
}

package coordinator

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Coordinator leads when it is asked to. It keeps nothing from one term to the
// next.
type Coordinator struct {
	cfg   Config
	kinds map[wire.JobKind]jobs.Job
}

// New checks the configuration.
func New(cfg Config) (*Coordinator, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("configure coordinator: %w", err)
	}
	c := &Coordinator{cfg: cfg, kinds: map[wire.JobKind]jobs.Job{}}
	for _, job := range cfg.Jobs {
		c.kinds[wire.JobKind{Name: job.Name(), Version: job.Version()}] = job
	}
	return c, nil
}

// Lead leads until ctx, which is the leadership itself, is done or the term is
// to stop. In the latter case everything is checkpointed, and the worker that
// should lead next is returned, or "" for any. Nothing that Lead has started is
// running when it returns.
func (c *Coordinator) Lead(ctx context.Context, term Term) (successor string, err error) {
	inner, cancel := context.WithCancel(undated{ctx})
	r := &reign{
		Coordinator: c, trust: ctx, ctx: inner, term: term,
		log:      c.cfg.Logger.With("epoch", term.Epoch),
		inbox:    make(chan input, 64),
		jobs:     map[string]*activeJob{},
		pending:  map[string]*pending{},
		parked:   map[string]string{},
		partials: map[ledger.Ref]partial{},
		merging:  semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0))),
		room:     make(chan struct{}, c.cfg.MaxActive),
		began:    time.Now(),
		ticker:   time.NewTicker(tickEverySettling),
	}
	r.link, err = r.listen()
	defer func() { // in this order: callbacks may wait for the loop until the context is done
		cancel()
		r.link.close()
		r.tasks.Wait()
	}()
	if err != nil {
		return "", fmt.Errorf("listen as leader of epoch %d: %w", term.Epoch, err)
	}
	r.sendBeacon()
	r.spawn(r.resume)
	return r.run()
}

// undated is a leadership without its deadline, which moves on. Whoever took it
// for the bound of a call would wait for a lost answer as long as the leadership
// lasts; without it, each call has its driver's own bound.
type undated struct{ context.Context }

func (undated) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// reign is one term of leading. Its fields belong to the goroutine that runs
// it; others send it inputs.
type reign struct {
	*Coordinator
	trust context.Context // the leadership; its Err looks at the clock
	ctx   context.Context // ends with it, or when Lead returns
	term  Term
	log   *slog.Logger
	link  *link
	inbox chan input
	tasks sync.WaitGroup

	ledger   *ledger.Ledger // nil until the active jobs are loaded
	early    early          // what came before
	jobs     map[string]*activeJob
	pending  map[string]*pending
	parked   map[string]string // jobs that cannot be worked on in this term, and why
	partials map[ledger.Ref]partial
	lastRef  ledger.Ref
	merging  *semaphore.Weighted
	room     chan struct{} // holds one token per job that is worked on or was taken from the queue

	began    time.Time
	ticker   *time.Ticker
	beaconed time.Time
	answer   func(wire.Receipt) // to the report that is being stepped
	timeline timeline
	leaving  time.Time // when it was told to stop; zero before
}

// input is something for the reign's goroutine to take in.
type input interface{ on(r *reign) }

// tickEvery is the resolution of everything that happens by time. A leader that
// settles looks more often, since workers may be waiting for it.
const (
	tickEvery         = 50 * time.Millisecond
	tickEverySettling = 5 * time.Millisecond
)

func (r *reign) run() (successor string, err error) {
	defer r.ticker.Stop()
	stopping := r.term.Stopping
	for {
		r.term.Beat()
		select {
		case <-r.trust.Done():
		case in := <-r.inbox:
			// After a stall the leadership may be over although nothing has said so.
			if r.trust.Err() == nil {
				in.on(r)
			}
		case <-r.ticker.C:
			if r.trust.Err() == nil {
				r.tick()
			}
		case <-stopping:
			stopping = nil
			r.leave()
		}
		if r.trust.Err() != nil {
			return "", context.Cause(r.trust)
		}
		if r.mayLeave() {
			return r.successor(), nil
		}
	}
}

func (r *reign) tick() {
	if time.Since(r.beaconed) >= r.cfg.BeaconEvery {
		r.sendBeacon()
	}
	r.step(ledger.Tick{})
	r.recordTerm()
}

// leave begins to stop of one's own accord.
func (r *reign) leave() {
	if r.leaving.IsZero() {
		r.leaving = time.Now()
		r.log.Info("Leader stops")
		r.step(ledger.Stopping{})
	}
}

// mayLeave reports whether all that can be made durable is.
func (r *reign) mayLeave() bool {
	return !r.leaving.IsZero() &&
		(r.ledger == nil || r.ledger.Saved() || time.Since(r.leaving) > r.cfg.StopWithin)
}

// successor chooses the worker that should lead next: one that speaks, and will
// stay.
func (r *reign) successor() string {
	if r.ledger == nil {
		return ""
	}
	for _, w := range r.ledger.Workers() {
		if w.ID != r.cfg.Worker && (w.State == "idle" || w.State == "busy") {
			return w.ID
		}
	}
	return ""
}

// step feeds the ledger and performs what it answers.
func (r *reign) step(e ledger.Event) {
	if r.ledger == nil {
		return // nothing is known yet; what matters is kept by others
	}
	actions := r.ledger.Step(time.Since(r.began), e)
	if r.timeline.settled == 0 && r.ledger.Settled() {
		r.mark(&r.timeline.settled)
		r.ticker.Reset(tickEvery)
	}
	for _, a := range actions {
		r.perform(a)
	}
}

func (r *reign) perform(a ledger.Action) {
	switch a := a.(type) {
	case ledger.Reply:
		r.noteReceipt(a.Receipt)
		r.answer(a.Receipt)
	case ledger.Nudge:
		r.link.nudge(a.Worker)
	case ledger.Probe:
		r.probe(a.Worker)
	case ledger.Inquire:
		r.inquire(a.Job)
	case ledger.Merge:
		r.merge(a)
	case ledger.Forget:
		r.forget(a.Ref)
	case ledger.Checkpoint:
		r.checkpoint(a)
	case ledger.End:
		r.end(a)
	case ledger.Note:
		r.logNote(a)
	}
}

// spawn runs f beside the loop. Lead does not return before it has.
func (r *reign) spawn(f func()) { r.tasks.Go(f) }

// post sends the loop an input, unless the term is over.
func (r *reign) post(in input) {
	select {
	case r.inbox <- in:
	case <-r.ctx.Done():
	}
}

// probe asks a worker for a sign of life. Only the certainty that nobody listens
// counts as death. A leader that settles has not heard of the worker and only
// ceases to wait for it, so that it looks once.
func (r *reign) probe(worker string) {
	once := !r.ledger.Settled()
	r.spawn(func() {
		if r.link.gone(r.ctx, worker, once) {
			r.post(workerDied{worker})
		}
	})
}

type workerDied struct{ worker string }

func (in workerDied) on(r *reign) { r.step(ledger.WorkerDied{Worker: in.worker}) }

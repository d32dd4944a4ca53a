package term

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Reign is one term of leading. Its methods are called on one loop, and none of
// them waits.
type Reign struct {
	cfg   Config
	kinds map[wire.JobKind]jobs.Job
	ctx   context.Context // the term
	term  Term
	world World
	link  Link
	log   *slog.Logger

	ledger      *ledger.Ledger // nil until the active jobs are loaded
	early       early          // what came before
	jobs        map[string]*activeJob
	pending     map[string]*pending
	withdrawing int // jobs that are pending because they are withdrawn
	parked      map[string]parkedJob
	partials    map[ledger.Ref]partial
	lastRef     ledger.Ref

	active    room // for jobs that are worked on or were taken from the queue
	merging   room // for the jobs' own code
	extending room // for submissions that are being hidden anew
	extended  time.Time

	began    time.Time
	beaconed time.Time
	answer   func(wire.Receipt) // to the report that is being stepped
	timeline timeline
	leaving  time.Time // when it was told to stop; zero before
}

// New is a term that has not begun. Ctx ends with the leadership or, after
// [Reign.Left], before: what runs beside the loop ends with it, and nothing is
// called on the loop once it is done.
func New(ctx context.Context, cfg Config, term Term, world World, link Link) (*Reign, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("configure reign: %w", err)
	}
	r := &Reign{
		cfg: cfg, kinds: map[wire.JobKind]jobs.Job{}, ctx: ctx, term: term, world: world, link: link,
		log:       cfg.Logger.With("epoch", term.Epoch),
		jobs:      map[string]*activeJob{},
		pending:   map[string]*pending{},
		parked:    map[string]parkedJob{},
		partials:  map[ledger.Ref]partial{},
		active:    room{most: cfg.MaxActive},
		merging:   room{most: cfg.MaxMerging},
		extending: room{most: inParallel},
		began:     world.Now(),
	}
	for _, job := range cfg.Jobs {
		r.kinds[wire.JobKind{Name: job.Name(), Version: job.Version()}] = job
	}
	return r, nil
}

// Begin begins the term. Whoever calls it listens to workers already.
func (r *Reign) Begin() {
	r.sendBeacon()
	r.resume()
}

// tickEvery is the resolution of everything that happens by time. A leader that
// settles looks more often, since workers may be waiting for it.
const (
	tickEvery         = 50 * time.Millisecond
	tickEverySettling = 5 * time.Millisecond
)

// TickEvery is how often [Reign.Tick] shall be called from now on.
func (r *Reign) TickEvery() time.Duration {
	if r.ledger == nil || !r.ledger.Recovered() {
		return tickEverySettling
	}
	return tickEvery
}

// Tick looks at what comes due by time alone.
func (r *Reign) Tick() {
	if r.since(r.beaconed) >= r.cfg.BeaconEvery {
		r.sendBeacon()
		r.observeFigures()
		r.yield()
	}
	r.step(ledger.Tick{})
	r.extend()
	r.recordTerm()
}

// Stop begins to stop of one's own accord.
func (r *Reign) Stop() {
	if r.leaving.IsZero() {
		r.leaving = r.world.Now()
		r.log.Info("Leader stops")
		r.step(ledger.Stopping{})
	}
}

// Left reports whether a term that was to stop may end, since all that can be made
// durable is; and the worker that should lead next, or "" for any. It is asked
// after each other call.
func (r *Reign) Left() (successor string, left bool) {
	if r.leaving.IsZero() || r.ledger != nil && !r.ledger.AllDurable() && r.since(r.leaving) <= r.cfg.StopWithin {
		return "", false
	}
	return r.successor(), true
}

// step feeds the ledger and performs what it answers.
func (r *Reign) step(e ledger.Event) {
	if r.ledger == nil {
		return // nothing is known yet; what matters is kept by others
	}
	actions := r.ledger.Step(r.since(r.began), e)
	if r.ledger.Recovered() {
		r.mark(&r.timeline.settled)
	}
	for _, a := range actions {
		r.perform(a)
	}
}

func (r *Reign) perform(a ledger.Action) {
	switch a := a.(type) {
	case ledger.Reply:
		r.noteReceipt(a.Receipt)
		r.answer(a.Receipt)
	case ledger.Nudge:
		r.link.Nudge(a.Worker)
	case ledger.Probe:
		r.probe(a.Worker)
	case ledger.LookUpJob:
		r.inquire(a.Job)
	case ledger.Merge:
		r.merge(a)
	case ledger.DropPartial:
		r.forget(a.Ref)
	case ledger.Checkpoint:
		r.checkpoint(a)
	case ledger.EndJob:
		r.end(a)
	case ledger.Log:
		r.logNote(a)
	}
}

// spawn runs a task beside the loop, and then on the loop what it came to, if that
// is anything. A task uses what it was given and what never changes; all else is
// the loop's.
func (r *Reign) spawn(task func() (then func())) {
	r.world.Go(func() {
		if then := task(); then != nil {
			r.world.Post(then)
		}
	})
}

func (r *Reign) since(t time.Time) time.Duration { return r.world.Now().Sub(t) }

func (r *Reign) sendBeacon() {
	r.beaconed = r.world.Now()
	workers := 0
	if r.ledger != nil {
		workers = r.ledger.WorkerCount()
	}
	r.link.Beacon(wire.Beacon{
		Epoch: r.term.Epoch, Worker: r.cfg.Worker, LeaseID: r.term.LeaseID, Workers: workers, Next: r.cfg.BeaconEvery,
	})
}

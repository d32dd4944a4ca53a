package term

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Term is one term of leading. Its methods are called on one loop, and none of
// them waits.
type Term struct {
	cfg   Config
	kinds map[wire.JobKind]jobs.Job
	ctx   context.Context // the term
	env   Env
	link  Link
	log   *slog.Logger

	leadership *election.Term

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
// [Term.Left], before: what runs beside the loop ends with it, and nothing is
// called on the loop once it is done.
func New(ctx context.Context, cfg Config, leadership *election.Term, env Env, link Link) (*Term, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("configure term: %w", err)
	}
	t := &Term{
		cfg: cfg, kinds: map[wire.JobKind]jobs.Job{}, ctx: ctx, leadership: leadership, env: env, link: link,
		log:       cfg.Logger.With("epoch", leadership.Epoch),
		jobs:      map[string]*activeJob{},
		pending:   map[string]*pending{},
		parked:    map[string]parkedJob{},
		partials:  map[ledger.Ref]partial{},
		active:    room{most: cfg.MaxActive},
		merging:   room{most: cfg.MaxMerging},
		extending: room{most: inParallel},
		began:     env.Now(),
	}
	for _, job := range cfg.Jobs {
		t.kinds[wire.JobKind{Name: job.Name(), Version: job.Version()}] = job
	}
	return t, nil
}

// Begin begins the term. Whoever calls it listens to workers already.
func (t *Term) Begin() {
	t.sendBeacon()
	t.resume()
}

// tickEvery is the resolution of everything that happens by time. A leader that
// settles looks more often, since workers may be waiting for it.
const (
	tickEvery         = 50 * time.Millisecond
	tickEverySettling = 5 * time.Millisecond
)

// TickEvery is how often [Reign.Tick] shall be called from now on.
func (t *Term) TickEvery() time.Duration {
	if t.ledger == nil || !t.ledger.Recovered() {
		return tickEverySettling
	}
	return tickEvery
}

// Tick looks at what comes due by time alone.
func (t *Term) Tick() {
	if t.since(t.beaconed) >= t.cfg.BeaconEvery {
		t.sendBeacon()
		t.observeFigures()
		t.yield()
	}
	t.step(ledger.Tick{})
	t.extend()
	t.recordTerm()
}

// Stop begins to stop of one's own accord.
func (t *Term) Stop() {
	if t.leaving.IsZero() {
		t.leaving = t.env.Now()
		t.log.Info("Leader stops")
		t.step(ledger.Stopping{})
	}
}

// Left reports whether a term that was to stop may end, since all that can be made
// durable is; and the worker that should lead next, or "" for any. It is asked
// after each other call.
func (t *Term) Left() (successor string, left bool) {
	if t.leaving.IsZero() || t.ledger != nil && !t.ledger.AllDurable() && t.since(t.leaving) <= t.cfg.StopWithin {
		return "", false
	}
	return t.successor(), true
}

// step feeds the ledger and performs what it answers.
func (t *Term) step(e ledger.Event) {
	if t.ledger == nil {
		return // nothing is known yet; what matters is kept by others
	}
	actions := t.ledger.Step(t.since(t.began), e)
	if t.ledger.Recovered() {
		t.mark(&t.timeline.settled)
	}
	for _, a := range actions {
		t.perform(a)
	}
}

func (t *Term) perform(a ledger.Action) {
	switch a := a.(type) {
	case ledger.Reply:
		t.noteReceipt(a.Receipt)
		t.answer(a.Receipt)
	case ledger.Nudge:
		t.link.Nudge(a.Worker)
	case ledger.Probe:
		t.probe(a.Worker)
	case ledger.LookUpJob:
		t.inquire(a.Job)
	case ledger.Merge:
		t.merge(a)
	case ledger.DropPartial:
		t.forget(a.Ref)
	case ledger.Checkpoint:
		t.checkpoint(a)
	case ledger.EndJob:
		t.end(a)
	case ledger.Log:
		t.logNote(a)
	}
}

// spawn runs a task beside the loop, and then on the loop what it came to, if that
// is anything. A task uses what it was given and what never changes; all else is
// the loop's.
func (t *Term) spawn(task func() (then func())) {
	t.env.Go(func() {
		if then := task(); then != nil {
			t.env.Post(then)
		}
	})
}

func (t *Term) since(at time.Time) time.Duration { return t.env.Now().Sub(at) }

func (t *Term) sendBeacon() {
	t.beaconed = t.env.Now()
	workers := 0
	if t.ledger != nil {
		workers = t.ledger.WorkerCount()
	}
	t.link.Beacon(wire.Beacon{
		Epoch: t.leadership.Epoch, Worker: t.cfg.Worker, LeaseID: t.leadership.LeaseID, Workers: workers, Next: t.cfg.BeaconEvery,
	})
}

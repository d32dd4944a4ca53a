package term

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Term is the state of a leader during one term. All methods of Term must be called on one loop;
// none of them blocks.
type Term struct {
	cfg        Config
	kinds      map[wire.JobKind]jobs.Job // job definitions in cfg.Jobs by their kind
	ctx        context.Context           // context that is done when the term is over
	leadership *election.Term
	env        Env
	transport  Transport
	log        *slog.Logger

	ledger    *ledger.Ledger     // state machine of the leader; nil until the active jobs are loaded
	reply     func(wire.Receipt) // function that answers the report that the ledger is processing
	backlog   backlog
	jobs      jobTable
	lost      lostMessages
	writes    countedWrites
	receiving bool // true while a task is receiving a submission
	partials  partialTable
	limits    limits
	times     times
	told      bool  // the term was told to stop, or has failed
	announced int   // number of workers in the last beacon
	failure   error // reason why the term has failed; nil if it has not
	timeline  timeline
	views     views
}

// limits bounds the number of concurrent operations outside the loop.
type limits struct {
	merges     limiter // limits the number of tasks that merge
	extensions limiter // limits the number of concurrent extensions of submissions
	blobs      limiter // limits the number of partials that checkpoints write concurrently
}

// times contains the times of a term's last events; a zero time means never.
type times struct {
	begun      time.Time
	beacon     time.Time
	extensions time.Time // time of the last extension of submissions
	stopping   time.Time // when the term began to stop
}

// New returns a term that has not begun. The context must end with the leadership, or when the term
// has handed over (see [Term.Left]). Tasks end when ctx is done. After ctx is done, the loop must
// not call the term.
func New(ctx context.Context, cfg Config, leadership *election.Term, env Env, transport Transport) (*Term, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configure term: %w", err)
	}
	t := &Term{
		cfg: cfg, kinds: map[wire.JobKind]jobs.Job{}, ctx: ctx, leadership: leadership, env: env, transport: transport,
		log:      cfg.Logger.With("epoch", leadership.Epoch),
		jobs:     newJobTable(),
		partials: partialTable{byRef: map[ledger.Ref]*partial{}},
		limits: limits{
			merges:     limiter{limit: cfg.MaxMerging},
			extensions: limiter{limit: maxParallel},
			blobs:      limiter{limit: maxBlobWrites},
		},
		times: times{begun: env.Now()},
		lost:  lostMessages{searched: env.Now().Add(-cfg.SearchEvery * 3 / 4)}, // the first search is soon after the begin
	}
	for _, job := range cfg.Jobs {
		t.kinds[wire.JobKind{Name: job.Name(), Version: job.Version()}] = job
	}
	return t, nil
}

// Begin sends a beacon and loads the active jobs. Before Begin, the caller must have subscribed to
// the messages of workers.
func (t *Term) Begin() {
	t.sendBeacon(false)
	t.resume()
}

// The interval of ticks limits the precision of all timers of the term. Ticks are more frequent
// during recovery, because workers may be waiting for work.
const (
	tickEvery         = 50 * time.Millisecond
	tickEveryRecovery = 5 * time.Millisecond
)

// TickEvery returns the current interval at which [Term.Tick] must be called.
func (t *Term) TickEvery() time.Duration {
	if t.ledger == nil || !t.ledger.Recovered() {
		return tickEveryRecovery
	}
	return tickEvery
}

// Tick performs the work that has become due.
func (t *Term) Tick() {
	if t.beaconDue() {
		t.sendBeacon(false)
		t.observeFigures()
	}
	t.step(ledger.Tick{})
	t.beginNext()
	t.extendSubmissions()
	t.searchLost()
	t.countWrites()
	t.recordTerm()
	if t.since(t.views.begun) > recentFor {
		t.views = views{}
	}
}

// step passes an event to the ledger and performs the actions that the ledger returns. While the
// active jobs are being loaded there is no ledger, and step drops the event.
func (t *Term) step(e ledger.Event) {
	if t.ledger == nil {
		return
	}
	actions := t.ledger.Step(t.since(t.times.begun), e)
	if t.ledger.Recovered() {
		t.mark(&t.timeline.recovered)
	}
	for _, a := range actions {
		t.perform(a)
	}
}

func (t *Term) perform(a ledger.Action) {
	switch a := a.(type) {
	case ledger.Reply:
		t.markFirstAssignment(a.Receipt)
		t.reply(t.withOperands(a))
	case ledger.Nudge:
		t.transport.Nudge(a.Worker)
	case ledger.Probe:
		t.probe(a)
	case ledger.LookUpJob:
		t.lookUp(a.Job)
	case ledger.StorePlan:
		t.storePlan(a)
	case ledger.Merge:
		t.merge(a)
	case ledger.DropPartial:
		t.dropPartial(a.Ref)
	case ledger.Checkpoint:
		t.checkpoint(a)
	case ledger.EndRound:
		t.endRound(a)
	case ledger.EndJob:
		t.end(a)
	case ledger.Log:
		t.logDecision(a)
	}
}

// failJob handles an error of a merge or of a write of partials. A *jobFault fails the job. After
// errEnding nothing is left to do. Any other error ends the term (see fail).
func (t *Term) failJob(j *activeJob, err error) {
	var fault *jobFault
	switch {
	case errors.Is(err, errEnding):
	case errors.As(err, &fault):
		t.step(ledger.JobFailed{Job: j.id, Error: fault.Error()})
	default:
		t.fail(err)
	}
}

// spawn runs a task outside the loop. If the task returns a function, the loop calls it, and then
// begins waiting jobs if the limit on active jobs allows it. A task may use only its arguments and
// immutable values; all other state belongs to the loop.
func (t *Term) spawn(task func() (then func())) {
	t.env.Go(func() {
		if then := task(); then != nil {
			t.env.Post(func() {
				then()
				t.beginNext()
			})
		}
	})
}

func (t *Term) since(at time.Time) time.Duration { return t.env.Now().Sub(at) }

// workers returns the number of workers for beacons, or 0 while some workers may not have reported yet.
func (t *Term) workers() int {
	if t.ledger == nil || !t.ledger.Recovered() {
		return 0
	}
	return t.ledger.WorkerCount()
}

// beaconDue reports whether a beacon is due. A beacon is due earlier if the number of workers has changed, because
// the next leader waits for the reports of as many. Early beacons are rarer in large clusters, in which each
// beacon has many receivers.
func (t *Term) beaconDue() bool {
	every := t.cfg.BeaconEvery
	if n := t.workers(); n != t.announced {
		every = min(every, time.Duration(n)*time.Millisecond)
	}
	return t.since(t.times.beacon) >= every
}

func (t *Term) sendBeacon(leaving bool) {
	t.times.beacon = t.env.Now()
	t.announced = t.workers()
	t.transport.Beacon(wire.Beacon{
		Epoch: t.leadership.Epoch, Worker: t.cfg.Worker, LeaseID: t.leadership.LeaseID, Workers: t.announced, Next: t.cfg.BeaconEvery,
		Storage: t.cfg.Storage, Leaving: leaving, Failed: leaving && t.failure != nil,
	})
}

package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Ledger is the leader's state machine. It is used from one goroutine.
type Ledger struct {
	cfg Config
	now time.Duration

	settling bool
	heard    time.Duration // since when it listens: New, or the last job resumed since
	roster   []string      // workers to hear from before settling ends, sorted
	stopping bool

	jobs     []*job // higher priorities first, then older ones
	byID     map[string]*job
	workers  []*worker                // by ID
	slots    map[wire.JobKind]int     // that may be given work of the kind
	departed map[string]time.Duration // workers that are gone, and since when
	absent   absent                   // jobs that are not here
	isolated int                      // workers set aside to run isolated suspects
	lastSpan uint64                   // number of the last assignment
	freed    bool                     // in this step, partitions came to wait for a worker

	actions []Action
}

// New makes the ledger of a leader that begins at the instant now. Instants are
// readings of any clock that never goes back.
func New(cfg Config, now time.Duration) (*Ledger, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configure ledger: %w", err)
	}
	return &Ledger{
		cfg: cfg, now: now, heard: now, settling: true,
		byID: map[string]*job{}, slots: map[wire.JobKind]int{}, departed: map[string]time.Duration{}, absent: newAbsent(),
	}, nil
}

// Step takes one event and returns what is to be done about it, in that order.
func (l *Ledger) Step(now time.Duration, e Event) []Action {
	l.now = max(l.now, now)
	switch e := e.(type) {
	case JobAdded:
		l.addJob(e)
	case JobCancelled:
		if j := l.byID[e.Job]; j != nil {
			l.cancel(j)
		}
	case JobEnded:
		if j := l.byID[e.Job]; j != nil {
			l.removeJob(j)
		}
		l.absent.end(e.Job)
	case JobParked:
		if l.byID[e.Job] == nil {
			l.absent.park(e.Job)
		}
	case Reported:
		l.report(e)
	case WorkerDied:
		l.died(e.Worker)
	case Merged:
		if j := l.byID[e.Job]; j == nil || j.ending {
			l.forget(e.Ref)
		} else {
			l.finish(j, e.Node, e.Ref, false)
		}
	case MergeFailed:
		if j := l.byID[e.Job]; j != nil {
			l.fail(j, e.Error)
		}
	case Checkpointed:
		if j := l.byID[e.Job]; j != nil {
			l.checkpointed(j)
		}
	case Stopping:
		l.stop()
	case Tick:
		l.tick()
	}
	if l.freed {
		l.wake()
	}
	l.checkpoint()
	actions := l.actions
	l.actions = nil
	return actions
}

// tick looks at what comes due by time alone.
func (l *Ledger) tick() {
	l.listen()
	l.settle()
	for _, j := range l.jobs {
		j.measure(l.now)
	}
	l.freed = true // retries may have come due
}

// stop has everything made durable once more, which also clears the leader's own
// worker of suspicion.
func (l *Ledger) stop() {
	if l.stopping {
		return
	}
	l.stopping = true
	for _, j := range l.jobs {
		l.mustSave(j)
	}
}

func (l *Ledger) do(a Action) { l.actions = append(l.actions, a) }

// forget lets go of partials.
func (l *Ledger) forget(refs ...Ref) {
	for _, ref := range refs {
		if ref != NoRef {
			l.do(DropPartial{ref})
		}
	}
}

func (l *Ledger) note(job, worker, format string, args ...any) {
	l.do(Log{job, worker, fmt.Sprintf(format, args...)})
}

// worker returns the worker of that ID, or nil.
func (l *Ledger) worker(id string) *worker {
	if i, found := l.findWorker(id); found {
		return l.workers[i]
	}
	return nil
}

func (l *Ledger) findWorker(id string) (int, bool) {
	return slices.BinarySearchFunc(l.workers, id, func(w *worker, id string) int { return cmp.Compare(w.id, id) })
}

// interval is how often workers shall report.
func (l *Ledger) interval() time.Duration {
	if len(l.jobs) == 0 {
		return l.cfg.IdleEvery
	}
	return max(l.cfg.ReportEvery, time.Duration(len(l.workers))*time.Second/time.Duration(l.cfg.ReportsPerSecond))
}

// horizon is how much work each slot is given ahead. Where so many workers report
// that each seldom does, slots must not run dry in between.
func (l *Ledger) horizon() time.Duration { return max(l.cfg.Horizon, 4*l.interval()) }

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
	cfg      Config
	now      time.Duration
	began    time.Duration
	settling bool
	stopping bool
	roster   []string // workers to hear from before settling ends, sorted

	jobs       []*job    // by priority, then by ID
	workers    []*worker // by ID
	quarantine *worker   // runs suspects one by one; nil while there are none
	lastSpan   uint64

	actions []Action
}

// New makes the ledger of a leader that begins at the instant now. Instants are
// readings of any clock that never goes back.
func New(cfg Config, now time.Duration) (*Ledger, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configure ledger: %w", err)
	}
	return &Ledger{cfg: cfg, now: now, began: now, settling: true}, nil
}

// Step takes one event and returns what is to be done about it, in that order.
func (l *Ledger) Step(now time.Duration, e Event) []Action {
	l.now = max(l.now, now)
	switch e := e.(type) {
	case JobAdded:
		l.addJob(e)
	case JobCancelled:
		if j := l.job(e.Job); j != nil {
			l.cancel(j)
		}
	case JobEnded:
		l.removeJob(e.Job)
	case Reported:
		l.report(e)
	case WorkerDied:
		if w := l.worker(e.Worker); w != nil {
			l.bury(w, true)
		}
		l.strike(e.Worker)
	case Merged:
		if j := l.job(e.Job); j == nil || j.ending {
			l.do(Forget{e.Ref})
		} else {
			l.finish(j, e.Node, e.Ref)
		}
	case MergeFailed:
		if j := l.job(e.Job); j != nil {
			l.fail(j, e.Error)
		}
	case Checkpointed:
		if j := l.job(e.Job); j != nil {
			l.checkpointed(j)
		}
	case Stopping:
		l.stopping = true
		for _, j := range l.jobs {
			j.dirty = true // to clear the leader's own worker of suspicion
		}
	case Tick:
		l.tick()
	}
	l.settle()
	for _, j := range l.jobs {
		if j.freed {
			l.wake()
			break
		}
	}
	for _, j := range l.jobs {
		j.freed = false
	}
	l.checkpoint()
	actions := l.actions
	l.actions = nil
	return actions
}

func (l *Ledger) do(a Action) { l.actions = append(l.actions, a) }

func (l *Ledger) note(job, worker, format string, args ...any) {
	l.do(Note{job, worker, fmt.Sprintf(format, args...)})
}

func (l *Ledger) job(id string) *job {
	i := slices.IndexFunc(l.jobs, func(j *job) bool { return j.spec.ID == id })
	if i < 0 {
		return nil
	}
	return l.jobs[i]
}

func (l *Ledger) worker(id string) *worker {
	i, found := slices.BinarySearchFunc(l.workers, id, func(w *worker, id string) int { return cmp.Compare(w.id, id) })
	if !found {
		return nil
	}
	return l.workers[i]
}

// slots is the number of slots that may be given work.
func (l *Ledger) slots() int {
	n := 0
	for _, w := range l.workers {
		if !w.draining {
			n += w.slots
		}
	}
	return n
}

// tick looks for workers that have fallen silent, and for work that has become
// due for workers that wait.
func (l *Ledger) tick() {
	for _, w := range slices.Clone(l.workers) {
		silence := l.now - w.seen
		switch {
		case silence > w.every+l.cfg.SilentAfter:
			l.note("", w.id, "worker is silent for %v, its work goes to others", silence.Round(time.Millisecond))
			l.bury(w, false)
		case silence > 2*w.every+w.every/2 && l.now-w.probed > w.every:
			w.probed = l.now
			l.do(Probe{w.id})
		}
	}
	for _, j := range l.jobs {
		l.measure(j)
	}
	l.wake()
}

// settle ends the time in which a new leader only listens: once all workers
// that the manifests name have told what they hold or are dead, or it takes too
// long. Work that somebody holds must not be given to somebody else.
func (l *Ledger) settle() {
	waited := l.now - l.began
	if !l.settling || waited < l.cfg.SettleAtLeast && len(l.jobs) > 0 || waited < l.cfg.SettleFor && len(l.roster) > 0 {
		return
	}
	l.settling = false
	if len(l.roster) > 0 {
		l.note("", "", "workers did not answer the new leader in %v: %v", waited.Round(time.Millisecond), l.roster)
	}
	l.roster = nil
	l.wake()
}

// strike takes a worker off the roster: it has spoken, or is dead.
func (l *Ledger) strike(worker string) {
	if i, found := slices.BinarySearch(l.roster, worker); found {
		l.roster = slices.Delete(l.roster, i, i+1)
	}
}

// Settled reports whether assigning has begun.
func (l *Ledger) Settled() bool { return !l.settling }

// interval is how often workers shall report.
func (l *Ledger) interval() time.Duration {
	if len(l.jobs) == 0 {
		return l.cfg.IdleEvery
	}
	return max(l.cfg.ReportEvery, time.Duration(len(l.workers))*time.Second/time.Duration(l.cfg.ReportsPerSecond))
}

// Workers describes the workers for a person.
func (l *Ledger) Workers() []wire.WorkerInfo {
	list := make([]wire.WorkerInfo, 0, len(l.workers))
	for _, w := range l.workers {
		state := "idle"
		switch {
		case l.now-w.seen > 3*w.every+time.Second:
			state = "silent"
		case w.draining:
			state = "draining"
		case len(w.held) > 0:
			state = "busy"
		}
		list = append(list, wire.WorkerInfo{
			ID: w.id, Host: w.hello.Host, PID: w.hello.PID, Slots: w.slots, Since: w.hello.Since,
			Leader: w.id == l.cfg.Self, State: state,
		})
	}
	return list
}

// Jobs describes the active jobs for a person.
func (l *Ledger) Jobs() []wire.JobProgress {
	list := make([]wire.JobProgress, 0, len(l.jobs))
	for _, j := range l.jobs {
		list = append(list, j.progress(l))
	}
	return list
}

package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Ledger is the leader's state machine. It is not safe for concurrent use.
type Ledger struct {
	cfg Config
	now time.Duration

	recovery recovery
	stopping bool

	jobs        []*job // active jobs, sorted by priority (highest first) and then by age (oldest first)
	jobsByID    map[string]*job
	unknownJobs unknownJobs

	workers     []*worker           // workers sorted by ID
	idle        sortedList[*worker] // workers with idle slots
	livenessAt  time.Duration       // no worker must be probed or removed before this time
	departed    map[string]departure
	departedAt  time.Duration        // time at which departed workers are dropped next
	hosts       map[string]int       // number of workers on each machine
	slotsByKind map[wire.JobKind]int // number of slots that can run a kind of job; slots of draining workers do not count
	reserved    int                  // number of workers that are reserved for quarantined partitions and calls
	deaths      deathLog
	gone        []goneWorker // the last one first, at most wire.MaxGone

	lastNumber uint64 // number of the newest assignment in this term
	counts     uint64 // number of times that workers were counted for display: see worker.countedIn
	queueGrew  bool   // the queue grew during this step, so idle workers may have to be nudged

	actions []Action // actions that the current step returns
}

// New returns the ledger of a leader whose term begins at now. All times that are passed to the
// ledger are readings of one monotonic clock.
func New(cfg Config, now time.Duration) (*Ledger, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configure ledger: %w", err)
	}
	return &Ledger{
		cfg: cfg, now: now, recovery: recovery{active: true, since: now},
		jobsByID: map[string]*job{}, unknownJobs: newUnknownJobs(),
		departed: map[string]departure{}, slotsByKind: map[wire.JobKind]int{}, hosts: map[string]int{},
	}, nil
}

// Step takes one event and returns the actions that follow from it, in order.
func (l *Ledger) Step(now time.Duration, e Event) []Action {
	now = max(l.now, now)
	l.deaths.pass(time.Duration(len(l.workers)-l.reserved) * (now - l.now))
	l.now = now
	switch e := e.(type) {
	case JobAdded:
		l.addJob(e)
	case JobCancelled:
		l.onJob(e.Job, l.cancel)
	case JobEnded:
		l.onJob(e.Job, l.removeJob)
		l.unknownJobs.markEnded(e.Job)
	case JobPlanned:
		l.onJob(e.Job, func(j *job) { l.onPlanned(j, e) })
	case JobFailed:
		l.onJob(e.Job, func(j *job) { l.fail(j, e.Error) })
	case JobParked:
		if l.jobsByID[e.Job] == nil {
			l.unknownJobs.markParked(e.Job)
		}
	case Reported:
		l.onReport(e)
	case WorkerDied:
		l.onWorkerDied(e.Worker)
	case Merged:
		l.onMerged(e)
	case MergeSlow:
		l.onJob(e.Job, func(j *job) { l.onMergeSlow(j, e.Node) })
	case Checkpointed:
		l.onJob(e.Job, l.onCheckpointed)
	case Stopping:
		l.onStopping()
	case Tick:
		l.onTick()
	}
	if !l.recovery.active {
		for _, j := range l.jobs {
			l.pin(j)
		}
	}
	if l.queueGrew {
		l.nudgeIdle()
	}
	l.requestCheckpoints()
	actions := l.actions
	l.actions = nil
	return actions
}

// onJob handles an event of a job, unless the job has ended.
func (l *Ledger) onJob(id string, handle func(*job)) {
	if j := l.jobsByID[id]; j != nil {
		handle(j)
	}
}

// onMerged handles a node that the leader has merged.
func (l *Ledger) onMerged(e Merged) {
	j := l.jobsByID[e.Job]
	if j == nil || j.ending() {
		l.dropPartials(e.Ref)
		return
	}
	j.builds.add(l.cfg.Build)
	l.finish(j, e.FinishedNode, false)
}

// onTick performs the work that has become due since the last event.
func (l *Ledger) onTick() {
	l.checkLiveness()
	l.checkRecovery()
	for _, j := range l.jobs {
		j.display.update(l.now, j.forest.done()+j.unreported())
		j.merging.update(l.now, j.mergedBytes)
		l.stopInTime(j)
		l.keepWhole(j) // storage may have taken too long
		l.checkTimeout(j)
	}
	l.followTrials()
	l.queueGrew = true // the backoff of a failed partition may have ended
}

// elapsedEvery is the interval of the checkpoints that record the time spent on a job with a
// timeout, even if nothing else has changed. It bounds the time that a leader's death takes off the
// sum. Without these checkpoints, a job that hangs would never time out if leaders change often.
const elapsedEvery = 10 * time.Second

// checkTimeout fails a job that has exceeded its timeout.
func (l *Ledger) checkTimeout(j *job) {
	limit := j.spec.Timeout
	switch {
	case limit == 0:
	case l.now-j.began >= limit:
		l.fail(j, fmt.Sprintf("took longer than its timeout of %v: %s", limit, l.progressText(j)))
	case l.now-j.checkpoint.requestedAt >= min(elapsedEvery, limit/10):
		j.checkpoint.dirty = true
	}
}

// onStopping requests a last checkpoint of each job. The leader stops in an orderly way, so its
// last checkpoints do not mark the assignments of its own worker as crash suspects (see snapshot).
func (l *Ledger) onStopping() {
	l.stopping = true
	for _, j := range l.jobs {
		j.checkpoint.request()
	}
}

func (l *Ledger) do(a Action) { l.actions = append(l.actions, a) }

func (l *Ledger) dropPartials(refs ...Ref) {
	for _, ref := range refs {
		if ref != NoRef {
			l.do(DropPartial{ref})
		}
	}
}

func (l *Ledger) log(job, worker, format string, args ...any) {
	l.do(Log{Job: job, Worker: worker, Text: fmt.Sprintf(format, args...)})
}

// note records an event of a job that is not logged.
func (l *Ledger) note(j *job, worker, format string, args ...any) {
	l.do(Log{Job: j.spec.ID, Worker: worker, Text: fmt.Sprintf(format, args...), Event: true})
}

// worker returns the worker with an ID, or nil.
func (l *Ledger) worker(id string) *worker {
	if i, found := l.findWorker(id); found {
		return l.workers[i]
	}
	return nil
}

func (l *Ledger) findWorker(id string) (int, bool) {
	return slices.BinarySearchFunc(l.workers, id, func(w *worker, id string) int { return cmp.Compare(w.id, id) })
}

// reportInterval returns the time between two reports of a worker.
func (l *Ledger) reportInterval() time.Duration {
	least := l.cfg.ReportEvery
	if len(l.jobs) == 0 {
		least = l.cfg.IdleEvery
	}
	return max(least, l.shareOfReports(len(l.workers)))
}

// shareOfReports returns the report interval at which some workers together send Config.ReportsPerSecond.
func (l *Ledger) shareOfReports(workers int) time.Duration {
	return time.Duration(workers) * time.Second / time.Duration(l.cfg.ReportsPerSecond)
}

// horizon returns the amount of work, in time, that each slot is assigned in advance. It grows with
// the report interval, so that slots do not run out of work between two reports.
func (l *Ledger) horizon() time.Duration { return max(l.cfg.Horizon, 4*l.reportInterval()) }

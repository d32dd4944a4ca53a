package ledger

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

const (
	// keepDeparted is how long the ledger keeps the item numbers of a worker that has left. If a
	// worker comes back after keepDeparted, its repeated items count as executed again, which does
	// no other harm. A longer keepDeparted would make the manifests of long jobs with many workers
	// large.
	keepDeparted = 10 * time.Minute
	// maxDeparted is the maximum number of departed workers whose item numbers are kept, or
	// Config.MaxWorkers if that is larger. If more workers have left, the ledger keeps the workers that
	// left last.
	maxDeparted = 10_000
	// departedEvery is the time between two searches for departed workers whose item numbers need not be kept.
	departedEvery = time.Second
)

// worker is a worker process that reports to this leader.
type worker struct {
	id       string
	hello    wire.Hello
	draining bool
	reserved bool // true if the worker is reserved for quarantined partitions and calls
	joins    bool // true if the worker had no leader before this one

	slots        int // number of the worker's usable slots
	earlierCalls int // number of running calls that an earlier leader assigned
	callSlots    int // maximum number of calls that the worker runs at a time
	calls        int // number of the worker's assigned calls
	longCalls    int // number of the worker's assigned calls of Plan and Finish

	blame workerBlame

	judgements []judgement // judgements in the worker's report that are not handled yet

	usage  wire.Usage // processor and memory use in the last report, for display
	server string     // ID of the NATS server in the last report
	lostAt []int      // numbers of the lost slots in the last report, below wire.MaxRunning, for display

	conversation uint64                // number of the worker's current conversation
	sequence     uint64                // sequence number of the worker's last report
	receipt      wire.Receipt          // receipt for the worker's last report
	operands     map[wire.SpanID][]Ref // operands of the calls in the last receipt: see Reply.Operands

	drainsSince     time.Duration // time when the worker began to drain; valid only while it drains
	reportedAt      time.Duration // time of the last report
	spansReportedAt time.Duration // time of the last report with spans
	reportInterval  time.Duration // report interval in the last receipt
	probedAt        time.Duration
	nudged          bool          // a nudge was sent since the last report
	nudgedAt        time.Duration // time of the last nudge

	assignments   []*assignment // assignments in the order in which the worker runs them
	listedIdle    bool          // Ledger.idle contains the worker
	shares        []*jobShare   // jobShares of the worker, sorted by job ID
	countedIn     uint64        // value of Ledger.counts when the worker was last counted
	pendingSteals int           // number of unconfirmed cuts that free work for this worker
	nodes         []heldNode    // nodes that the worker held at its last report
	unknownSpans  int           // number of the worker's spans of unknown jobs
	unknownJobs   []string      // jobs that the worker has reported and that the ledger does not have
	unkept        []string      // parked jobs whose items the ledger has acknowledged but not kept
	startsOver    bool          // the worker must report again all items that it has, because a job in unkept was added
}

// departure describes a worker that died, left or was silent for too long.
type departure struct {
	at           time.Duration
	conversation uint64 // number of the worker's last conversation; 0 if it had none
}

// idleSlots returns the number of slots without a span.
func (w *worker) idleSlots() int { return w.slots - (len(w.assignments) - w.calls) }

// Compare compares workers by their IDs.
func (w *worker) Compare(o *worker) int { return cmp.Compare(w.id, o.id) }

// slotsChanged updates the list of workers with idle slots after a change of a worker's slots or assignments.
func (l *Ledger) slotsChanged(w *worker) {
	switch idle := w.idleSlots() > 0; {
	case idle && !w.listedIdle:
		l.idle.insert(w)
	case w.listedIdle && !idle:
		l.idle.remove(w)
	}
	w.listedIdle = w.idleSlots() > 0
}

// idleWorkers iterates over the workers with idle slots in the order of their IDs. A large cluster has few of them while a
// job runs. The loop must not change slots or assignments.
func (l *Ledger) idleWorkers() iter.Seq[*worker] {
	return func(yield func(*worker) bool) {
		for w := range l.idle.from(&worker{}) {
			if !yield(*w) {
				return
			}
		}
	}
}

func (w *worker) build() string { return cmp.Or(w.hello.Build, wire.UnknownBuild) }

func (w *worker) holdsNothing() bool { return len(w.assignments) == 0 && w.unknownSpans == 0 }

// register adds a worker that begins a conversation, or replaces its previous conversation. The
// assignments of the worker's previous conversation are queued. If the worker still holds one of
// the queued assignments, its next report lists the assignment.
func (l *Ledger) register(r wire.Report) *worker {
	var nodes []heldNode
	if old := l.worker(r.Worker); old != nil {
		nodes, old.nodes = old.nodes, nil // the next report with spans lists the nodes that the worker still holds
		l.removeWorker(old, false)
	} else {
		l.log("", r.Worker, "Worker joined")
	}
	delete(l.departed, r.Worker)
	w := &worker{id: r.Worker, hello: *r.Hello, slots: r.Hello.Slots, conversation: r.Conversation, spansReportedAt: l.now, nodes: nodes, joins: r.Conversation == wire.FirstConversation(r.Hello.Since)}
	if w.joins {
		l.recovery.joined++
	}
	i, _ := l.findWorker(w.id)
	l.workers = slices.Insert(l.workers, i, w)
	l.hosts[w.hello.Host]++
	l.countSlots(w, w.slots)
	l.slotsChanged(w)
	return w
}

// onWorkerDied removes a worker whose process has died.
func (l *Ledger) onWorkerDied(id string) {
	if w := l.worker(id); w != nil {
		if w.draining && len(w.assignments) == 0 {
			l.log("", id, "Worker left")
		} else {
			l.log("", id, "Worker died")
			l.noteLoss(w, "Worker died: its process has ended or lost its connection")
			l.noteGone(w, "its process has ended or lost its connection")
			l.recordDeath(w)
		}
		l.removeWorker(w, true)
	} else if l.recovery.active {
		l.departed[id] = departure{at: l.now}
	}
	l.recovery.checkOff(id)
	l.checkRecovery()
}

// checkLiveness removes workers that have been silent for too long, and probes workers
// whose reports are late. It walks all workers only when at least one of them may be late.
func (l *Ledger) checkLiveness() {
	if l.now >= l.livenessAt {
		l.livenessAt = math.MaxInt64
		for _, w := range slices.Clone(l.workers) {
			silence := l.now - w.reportedAt
			switch {
			case silence > w.reportInterval+l.cfg.SilentAfter:
				l.log("", w.id, "Worker is silent for %v, its work goes to others", silence.Round(time.Millisecond))
				l.noteLoss(w, fmt.Sprintf("Worker is silent for %v", silence.Round(time.Millisecond)))
				l.noteGone(w, fmt.Sprintf("it was silent for %v", silence.Round(time.Second)))
				l.removeWorker(w, false)
				continue
			case silence > l.late(w) && l.now-w.probedAt > w.reportInterval:
				l.probe(w)
			}
			l.watchSilence(w)
		}
	}
	if l.now >= l.departedAt {
		l.departedAt = l.now + departedEvery
		l.expireDeparted()
	}
}

// watchSilence makes checkLiveness walk the workers as soon as a worker must be probed or removed.
func (l *Ledger) watchSilence(w *worker) {
	probe := max(w.reportedAt+l.late(w), w.probedAt+w.reportInterval)
	l.livenessAt = min(l.livenessAt, probe, w.reportedAt+w.reportInterval+l.cfg.SilentAfter)
}

// late returns the time after a report at which the worker is probed. It is shorter than the time after
// which a silent worker is removed, because only a probe tells a death from silence.
func (l *Ledger) late(w *worker) time.Duration {
	return w.reportInterval + min(w.reportInterval, l.cfg.SilentAfter)/2
}

// probe asks whether a worker's process is alive.
func (l *Ledger) probe(w *worker) {
	w.probedAt = l.now
	l.do(Probe{w.id, w.server})
}

// expireDeparted drops the item numbers of workers that left more than keepDeparted ago. If too
// many workers have left, expireDeparted also drops the item numbers of the workers that left
// earliest.
func (l *Ledger) expireDeparted() {
	before := l.now - keepDeparted
	if most := max(maxDeparted, l.cfg.MaxWorkers); len(l.departed) > most {
		var since []time.Duration
		for _, d := range l.departed {
			since = append(since, d.at)
		}
		slices.Sort(since)
		before = max(before, since[len(since)-most])
	}
	for id, d := range l.departed {
		if d.at < before {
			delete(l.departed, id)
			for _, j := range l.jobs {
				delete(j.contributors, id)
			}
		}
	}
}

// removeWorker removes a worker and queues its assignments. If died is true, the worker's process
// died, and the assignments that were sent to the worker become crash suspects.
func (l *Ledger) removeWorker(w *worker, died bool) {
	for len(w.assignments) > 0 {
		a := w.assignments[0]
		l.reclaim(a, died && a.state >= stateSent)
	}
	for _, n := range w.nodes {
		l.loseNode(w, n)
	}
	l.unsettle(w)
	if w.joins {
		l.recovery.joined--
	}
	l.setReserved(w, false)
	l.setDraining(w, true)
	l.setSlots(w, 0)
	i, _ := l.findWorker(w.id)
	l.workers = slices.Delete(l.workers, i, i+1)
	if l.hosts[w.hello.Host]--; l.hosts[w.hello.Host] == 0 {
		delete(l.hosts, w.hello.Host)
	}
	l.departed[w.id] = departure{l.now, w.conversation}
}

// setDraining sets whether a worker is draining, that is, accepts no more work.
func (l *Ledger) setDraining(w *worker, draining bool) {
	switch {
	case draining && !w.draining:
		w.drainsSince = l.now
		l.countSlots(w, -w.slots)
	case w.draining && !draining:
		l.countSlots(w, w.slots)
	}
	w.draining = draining
}

func (l *Ledger) setSlots(w *worker, slots int) {
	slots = max(0, slots)
	if !w.draining {
		l.countSlots(w, slots-w.slots)
	}
	w.slots = slots
	l.slotsChanged(w)
}

// countSlots adds n to the number of slots for each kind of job that a worker knows.
func (l *Ledger) countSlots(w *worker, n int) {
	for _, kind := range w.hello.Knows {
		if l.slotsByKind[kind] += n; l.slotsByKind[kind] == 0 {
			delete(l.slotsByKind, kind)
		}
	}
}

// knows reports whether a worker has a job's definition, and whether the job admits the worker's
// build.
func (w *worker) knows(j *job) bool { return w.knowsKind(j) && j.admits(w.build()) }

func (w *worker) knowsKind(j *job) bool { return slices.Contains(w.hello.Knows, j.opening.Kind) }

// canRun reports whether a worker can be assigned partitions of a job now.
func (l *Ledger) canRun(w *worker, j *job) bool {
	if w.draining || w.slots == 0 || w.benched(l.now) || j.ending() || !w.knows(j) {
		return false
	}
	i, found := w.findShare(j.spec.ID)
	return !found || l.now >= w.shares[i].benchedUntil
}

// anotherCanRun reports whether a worker other than w can be assigned partitions of a job.
func (l *Ledger) anotherCanRun(w *worker, j *job) bool {
	return slices.ContainsFunc(l.workers, func(o *worker) bool { return o != w && l.canRun(o, j) })
}

// nudgeAgain is the time after which a nudge that no report has followed counts as lost. If workers report at least that
// often, a lost nudge does no harm.
const nudgeAgain = time.Second

// nudge asks a worker to report now, unless the worker was asked and may still report. It reports whether it sent a nudge.
func (l *Ledger) nudge(w *worker) bool {
	if w.nudged && (w.reportInterval <= nudgeAgain || l.now-w.nudgedAt < nudgeAgain) {
		return false
	}
	w.nudged, w.nudgedAt = true, l.now
	l.do(Nudge{w.id})
	return true
}

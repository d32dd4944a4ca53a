package ledger

import (
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// assignment is a span or a call that is assigned to a worker.
type assignment struct {
	id     wire.SpanID
	worker *worker
	job    *job
	share  *jobShare // the worker's data about the assignment's job

	span   engine.Span // the partitions of the assignment that are not reported yet; empty for a call
	call   *call       // the assigned call, or nil if a span is assigned
	state  assignmentState
	beside bool   // a hung worker makes the call beside its call slots
	ran    uint64 // number of partitions from span.Lo on that the worker has run but not reported

	slot int // number of the worker's slot, for display: see wire.HeldSpan.Slot

	// progressAt and slotSeconds are used to measure rates and to find stragglers.
	progressAt  time.Duration // time when the assignment began to run, or when span.Lo last changed
	slotSeconds float64       // time that slots have spent on the assignment since span.Lo last changed
	adopted     bool          // partitions from span.Lo on began before this ledger adopted the assignment, so slotSeconds lacks a part of their time

	// The next three fields are used only if the assignment is a crash suspect.
	deaths      int    // number of workers that died while one of the assignment's partitions was assigned to them
	quarantined bool   // the assignment runs alone on a reserved worker
	step        string // function that a quarantined partition is running or ran last; empty if unknown
	waitsFor    uint64 // number of the checkpoint that must be durable before the assignment is sent; 0 if the assignment need not wait

	// The next three fields are used at the end of a job, when idle workers take over work.
	duplicate *assignment // other assignment of the same partition, if either is a speculative copy; otherwise nil
	cut       *cut        // an order to end the assignment early, or nil
	obsolete  bool        // the assignment was cut because other workers have finished all of its partitions
}

// assignmentState is the state of an assignment on its worker. An assignment begins in the state
// planned. An assignment of an earlier leader begins in the state confirmed or running, because
// this leader learns of the assignment from a report. States change in the order of the constants,
// except that a running assignment becomes confirmed again if its slot has stopped. An assignment
// in any other state may become released.
type assignmentState int

const (
	// statePlanned: the assignment was not sent yet, because it waits for a checkpoint or for space
	// in a receipt. A planned assignment cannot have killed its worker.
	statePlanned assignmentState = iota
	// stateSent: the assignment was sent in a receipt, and no report has listed it yet. The worker
	// may have started a sent assignment, so the assignment becomes a crash suspect if the worker
	// dies.
	stateSent
	// stateConfirmed: a report listed the assignment as not running. A confirmed assignment can be
	// cut.
	stateConfirmed
	// stateRunning: a report listed the assignment as running. A cut does not affect partitions
	// that the worker has already started.
	stateRunning
	// stateReleased: the ledger has removed the assignment.
	stateReleased
)

// cut is an order to a worker to end an assignment early. The worker's next report contains the
// actual end of the assignment. A worker that is already past the cut finishes the partitions that
// it has started.
type cut struct {
	at    uint64  // new end (span.Hi) of the assignment
	thief *worker // idle worker that gets the partitions after the cut, or nil
	sent  bool    // the cut was sent in a receipt
}

// assign creates an assignment for a worker. The worker's next receipt contains the new assignment.
func (l *Ledger) assign(w *worker, j *job, a assignment) {
	l.lastNumber++
	a.id = wire.SpanID{Epoch: l.cfg.Epoch, Number: l.lastNumber}
	a.worker, a.job, a.share = w, j, w.share(j)
	a.progressAt = l.now
	if j.writeAhead && w.id == l.cfg.Self {
		a.waitsFor = j.checkpoint.request()
	}
	if a.call != nil {
		a.call.assignment = &a
		if a.call.function == wire.Merge && j.lacking(j.tree.Span(a.call.node)) != 0 {
			a.waitsFor = max(a.waitsFor, j.skipsIn) // the skipped partitions must be durable before the merge, because a later leader accepts the result only if it knows these partitions
		}
	}
	if a.call != nil && j.dependsOnJudgement(a.call) {
		a.waitsFor = max(a.waitsFor, j.prefixes.durableIn)
		if j.checkpoint.requested < a.waitsFor {
			j.checkpoint.request()
		}
	}
	l.addAssignment(&a)
	l.noteAssignment(&a)
	if a.duplicate != nil {
		a.duplicate.duplicate = &a
	}
}

func (l *Ledger) addAssignment(a *assignment) {
	a.worker.assignments = append(a.worker.assignments, a)
	switch {
	case a.call != nil:
		a.worker.countCall(a.call, 1)
	case a.quarantined:
		a.job.trial.isolated++
	}
	l.slotsChanged(a.worker)
	a.job.assignments.add(a)
	a.job.contributor(a.worker.id) // the manifest names the worker, so that a new leader waits for the worker's report
	a.job.checkpoint.dirty = true
}

// release removes an assignment. The caller must queue the unfinished partitions of the released
// assignment.
func (l *Ledger) release(a *assignment) {
	a.removeCut()
	if a.quarantined && a.worker.id == l.cfg.Self {
		a.job.checkpoint.request() // see dangersDurable
	}
	if a.duplicate != nil {
		a.duplicate.duplicate, a.duplicate = nil, nil
	}
	switch {
	case a.call != nil:
		a.worker.countCall(a.call, -1)
		a.call.assignment = nil
		if a.state == stateRunning {
			a.call.queuedAt = l.now
		}
	case a.quarantined:
		a.job.trial.isolated--
	}
	i := slices.Index(a.worker.assignments, a)
	a.worker.assignments = slices.Delete(a.worker.assignments, i, i+1)
	l.slotsChanged(a.worker)
	a.job.assignments.release(a)
	a.job.checkpoint.dirty = true
}

// reclaim releases an assignment of a worker that was removed. If died is true, the worker's
// process died, and the assignment becomes a crash suspect.
func (l *Ledger) reclaim(a *assignment, died bool) {
	if a.call != nil {
		l.reclaimCall(a, died)
		return
	}
	j, deaths, duplicate := a.job, a.deaths, a.duplicate
	if died {
		deaths = a.deathsAfterOne()
		j.loseTime(l.unreported(a))
		if a.quarantined {
			j.ranAlone(a.span.Lo, l.now-a.progressAt)
		}
		j.leaderExemptUntil = l.now + leaderMakesAfter
		j.checkpoint.request() // the checkpoint tells the next leader about the death
		if a.state == stateRunning {
			l.retryBegun(a)
		}
	}
	if duplicate != nil { // the other copy of the partition continues
		duplicate.deaths = max(duplicate.deaths, min(deaths, quarantineAfter))
	}
	l.release(a)
	switch {
	case duplicate != nil || j.ending():
	case died && a.quarantined && j.anyMissing(a.span) && l.blamed(j, a.span.Lo, deaths):
		l.deaths.forget(j)
		l.giveUp(j, a.span.Lo, blame(a.span.Lo, a.step, deaths, a.worker.lastSeen()))
	default:
		l.enqueue(j, a.span, deaths)
		j.isolateSuspect()
	}
}

// giveBack queues the partitions of an assignment that its worker no longer holds. If the
// assignment has a duplicate, giveBack queues nothing, because another worker still has the
// partitions.
func (l *Ledger) giveBack(a *assignment, span engine.Span) {
	if a.duplicate == nil {
		l.enqueue(a.job, span, a.deaths)
	}
}

// maySend reports whether an assignment may be sent to its worker. An assignment that might kill
// the leader is sent only after a checkpoint with the assignment is durable, so that the next
// leader knows about it.
func (a *assignment) maySend() bool { return a.job.checkpoint.durable >= a.waitsFor }

// cutAt orders a worker to end an assignment early. The rest of the assignment is queued when the
// worker's next report confirms the cut.
func (a *assignment) cutAt(at uint64, thief *worker) {
	if a.cut != nil {
		return
	}
	a.cut = &cut{at: at, thief: thief}
	if thief != nil {
		thief.pendingSteals++
	}
}

func (a *assignment) removeCut() {
	if a.cut != nil && a.cut.thief != nil {
		a.cut.thief.pendingSteals--
	}
	a.cut = nil
}

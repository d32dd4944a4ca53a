package ledger

import (
	"math"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

const (
	// minPerSlot is the minimum number of assignments per slot: one that runs, and one that follows
	// without a pause.
	minPerSlot = 2
	// maxPerSlot is the maximum number of assignments per slot, for jobs with short assignments.
	// maxPerWorker is the maximum number of spans of one worker, which also has at most maxAssigned spans and calls.
	maxPerSlot   = 16
	maxPerWorker = minPerSlot * wire.MaxSlots
	// With more than manyAssignments assignments in total, each slot gets at most minPerSlot per
	// priority, because the leader's work grows with the number of assignments.
	manyAssignments = 16_000
	// maxFirstPiece is the largest number of partitions in an assignment while the job's rate is
	// unknown. For fast partitions, maxFirstPiece costs only a few more reports.
	maxFirstPiece = 32
	// minWork is the smallest amount of work, in slot time, in an assignment. In a large cluster
	// the smallest amount of work is the report interval divided by minWorkShare, because reports
	// are rare.
	minWork      = 20 * time.Millisecond
	minWorkShare = 16
	// maxWork is the largest amount of queued work that the ledger distinguishes. Larger amounts of
	// work, and work of unknown duration, count as maxWork.
	maxWork = time.Hour
)

// dispatch assigns calls and partitions to a worker, as far as the worker needs more work.
func (l *Ledger) dispatch(w *worker) {
	l.arrived(w)
	if l.recovery.active || l.stopping || w.draining {
		return
	}
	if l.reserve(w) {
		l.assignQuarantined(w)
	}
	if w.reserved {
		return
	}
	l.assignCalls(w)
	for l.assignNext(w) {
	}
	l.steal(w)
	l.stealCalls(w)
}

// assignNext assigns one more span to a worker, if the worker wants more and a queue has work for
// the worker. Among the jobs of the highest priority, assignNext chooses the job with the fewest
// assignments. A worker that has enough work of one priority also gets work of lower priorities.
func (l *Ledger) assignNext(w *worker) bool {
	var best, refused *job
	for _, j := range l.jobs {
		worse := best != nil && (j.spec.Priority < best.spec.Priority || j.assignments.len() >= best.assignments.len())
		hasEnough := refused != nil && j.spec.Priority == refused.spec.Priority
		if worse || hasEnough || !l.hasWork(w, j) || w.idleSlots() <= 0 && (l.leavesToIdle(w, j) || l.leavesForLater(w, j) || l.holdsUp(w, j)) {
			continue
		}
		if best == nil && !l.wantsMore(w, j.spec.Priority) {
			refused = j
			continue
		}
		best = j
	}
	if best == nil {
		return false
	}
	l.assign(w, best, l.takePiece(w, best))
	return true
}

// wantsMore reports whether a worker should get more work of a given priority. A worker should get
// more work until each of its slots has enough work of the given priority or higher priorities.
// Enough work lasts for the horizon, or is the worker's fair share of the queues if the fair share
// is less. A worker with more than its fair share would still be busy when other workers are
// already idle.
func (l *Ledger) wantsMore(w *worker, priority int) bool {
	if len(w.assignments)-w.calls >= maxPerWorker || len(w.assignments) >= maxAssigned || w.probes() && len(w.assignments) > w.calls {
		return false
	}
	count, ahead := l.ahead(w, priority)
	switch {
	case count < minPerSlot*w.slots:
		return true
	case count >= maxPerSlot*w.slots || l.assignmentCount() >= manyAssignments:
		return false
	}
	enough := min(l.horizon(), l.fairShare(w, priority))
	return ahead < min(enough*time.Duration(w.slots), maxWork)
}

// ahead returns the number of spans of a priority or higher priorities that are assigned to a worker,
// and how much slot time they will take.
func (l *Ledger) ahead(w *worker, priority int) (count int, d time.Duration) {
	for _, a := range w.assignments {
		if a.call == nil && a.job.spec.Priority >= priority {
			count++
			_, left := l.remaining(a)
			d = min(d+left, maxWork)
		}
	}
	return count, d
}

// fairShare returns how long the queued work of a priority would keep all slots busy that can run
// it.
func (l *Ledger) fairShare(w *worker, priority int) time.Duration {
	d := time.Duration(0)
	for _, j := range l.jobs {
		if size := j.lookahead(); j.spec.Priority == priority && size > 0 && l.canRun(w, j) {
			perSecond := j.rate.perSecond()
			if perSecond == 0 {
				return maxWork
			}
			d = min(d+duration(float64(size)/perSecond/float64(l.slotsFor(j))), maxWork)
		}
	}
	return d
}

// assignmentCount returns the number of assignments of all workers.
func (l *Ledger) assignmentCount() (n int) {
	for _, j := range l.jobs {
		n += j.assignments.len()
	}
	return n
}

// slotsFor returns the number of slots that can run a job, and at least 1.
func (l *Ledger) slotsFor(j *job) int { return max(1, l.slotsByKind[j.opening.Kind]) }

// leavesToIdle reports whether a worker should leave the last partitions of a job to idle workers,
// because its own slots are all busy. Each failed partition and each crash suspect counts as one
// assignment. A worker keeps the last partitions of its home if they are too little work for an assignment.
func (l *Ledger) leavesToIdle(w *worker, j *job) bool {
	size := l.pieceSize(w, j)
	pieces := (j.queue.fresh.size+size-1)/size + uint64(j.queue.failed.retries.len) + j.queue.suspects.size
	if pieces > uint64(l.slotsFor(j)) || w.ownsQueued(j) && w.share(j).home.size <= size {
		return false
	}
	for o := range l.idleWorkers() {
		if o != w && !o.reserved && l.hasWork(o, j) {
			idle := uint64(o.idleSlots())
			if idle >= pieces {
				return true
			}
			pieces -= idle
		}
	}
	return false
}

// hasWork reports whether a job's queue has partitions that a worker may run now.
func (l *Ledger) hasWork(w *worker, j *job) bool {
	return j.queue.size() > 0 && l.canRun(w, j) && !l.heldBack(w, j) &&
		(l.hasFresh(w, j) || l.hasSuspect(w, j) || l.dueRetry(w, j) != nil)
}

// takePiece returns the next assignment: a copy of a straggler that holds up a judgement, then a failed partition,
// then a crash suspect, then fresh partitions, all but the copy from the job's queue. The caller must know from
// hasWork that the queue has partitions for the worker.
func (l *Ledger) takePiece(w *worker, j *job) assignment {
	if a, ok := l.overtake(w, j); ok {
		return a
	}
	if f := l.dueRetry(w, j); f != nil {
		j.queue.failed.setQueued(f, false)
		return assignment{span: single(f.partition)}
	}
	if a, ok := l.takeSuspect(w, j); ok {
		return a
	}
	return assignment{span: l.takeFresh(w, j)}
}

// maxSpread is the number of gaps in a job's queue at which workers stop starting far apart from
// each other. It bounds the time that dispatching takes.
const maxSpread = 64

// spreads reports whether a worker should start far from other workers, because the job's partials
// are probably large. A worker that starts between other workers would hold partials whose siblings
// are on other workers.
func (l *Ledger) spreads(w *worker, j *job) bool {
	return j.expectLarge && !j.spec.Estimates && w.share(j).perSecond() == 0 && len(j.queue.fresh.spans) < maxSpread
}

// dueRetry returns a failed partition that a worker can retry now, or nil. A partition is not
// retried on the worker on which it failed last until Config.RetryAtMost after its backoff, and never
// as the probe of that worker, if another worker can run it.
func (l *Ledger) dueRetry(w *worker, j *job) *failedPartition {
	r := j.queue.failed.nextRetry(l.now, func(r retry) bool {
		return r.avoidWorker != w.id || !w.probes() && l.now >= r.due+l.cfg.RetryAtMost || !l.anotherCanRun(w, j)
	})
	if r == nil {
		return nil
	}
	return j.queue.failed.find(r.partition)
}

// pieceSize returns about the number of partitions in a worker's next assignment. It uses guided
// self-scheduling (Polychronopoulos and Kuck, 1987): an assignment is a share of the queue, so
// assignments shrink towards the end of the job. An assignment takes at least leastWork and at most
// half a horizon. While the rate is unknown, assignments are small, so that the rate is soon known
// and no worker gets work for hours. If partials are large, the first assignment of each worker may
// take less than leastWork, because a worker that begins with more than its share would take the
// siblings of the partials that other workers hold.
func (l *Ledger) pieceSize(w *worker, j *job) uint64 {
	if w.probes() {
		return 1
	}
	share := j.lookahead()/uint64(2*l.slotsFor(j)) + 1
	perSecond := w.share(j).perSecond()
	if perSecond == 0 {
		return max(1, min(share/4, maxFirstPiece))
	}
	least, most := perSecond*l.leastWork(j).Seconds(), perSecond*l.horizon().Seconds()/2
	if j.large && w.share(j).next == 0 {
		least = 0
	}
	return max(1, uint64(min(max(float64(share), least), max(most, 1), engine.MaxPartitions)))
}

// minWork returns the smallest amount of work in an assignment, in slot time.
func (l *Ledger) minWork() time.Duration { return max(minWork, l.reportInterval()/minWorkShare) }

// remaining estimates how many partitions of an assignment are left, and how long they will take.
// If the rate is unknown, remaining assumes half a horizon.
func (l *Ledger) remaining(a *assignment) (partitions float64, d time.Duration) {
	partitions = float64(a.span.Len() - min(a.ran, a.span.Len()))
	perSecond := a.share.perSecond()
	if perSecond == 0 {
		return partitions, l.horizon() / 2
	}
	if a.state == stateRunning {
		partitions = max(1, partitions-perSecond*(l.now-a.worker.spansReportedAt).Seconds())
	}
	return partitions, duration(partitions / perSecond)
}

// nudgeIdle nudges as many idle workers as there is queued work for, and first the workers whose home is queued.
func (l *Ledger) nudgeIdle() {
	l.queueGrew = false
	if l.recovery.active || l.stopping {
		return
	}
	for _, j := range l.jobs {
		l.nudgeForCalls(j)
		work, room := j.queue.size(), math.MaxInt
		if l.trialLimit(j) <= maxTrialWorkers {
			room = maxTrialWorkers // most of the other workers would report without getting work
		}
		for _, owners := range []bool{true, false} {
			for w := range l.idleWorkers() {
				if work == 0 || room == 0 || owners && j.queue.owners.queued.size == 0 {
					break
				}
				if w.ownsQueued(j) != owners || !l.wouldTake(w, j) {
					continue
				}
				if l.nudge(w) {
					room--
				}
				work -= min(work, uint64(w.idleSlots()))
			}
		}
	}
}

// wouldTake reports whether a worker with idle slots would get partitions of a job if it reported
// now. Ticks use wouldTake to avoid useless nudges.
func (l *Ledger) wouldTake(w *worker, j *job) bool {
	if w.holdsNothing() && (w.reserved || l.mayReserve(w)) && l.quarantinedFor(w) == j {
		return true
	}
	return !w.reserved && l.hasWork(w, j)
}

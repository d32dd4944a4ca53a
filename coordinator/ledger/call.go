package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

const (
	// maxCalls is the maximum number of calls that are assigned to a worker. Together with maxPerWorker spans,
	// a worker then holds at most session.MaxHeld assignments.
	maxCalls = 48
	// maxMerges is the maximum number of merges among the calls of a worker, so that other calls do not wait
	// for many merges.
	maxMerges = 40
	// If no other worker has begun a call or a quarantined partition for the time leaderMakesAfter, the
	// leader's own worker may run it.
	leaderMakesAfter = 5 * time.Second
	// maxOperandBytes bounds the size of all operands in a receipt. Calls whose operands do not fit
	// go into the next receipt. A receipt with only one call may exceed this bound.
	maxOperandBytes = 512 << 10
	// mergeProbation is the time after a leader's death during which the next leader leaves all
	// merges of the resumed jobs to workers, because one of the merges that the dead leader had
	// begun may have killed it. Workers report their items again at once, so the operands of these
	// merges are in the new leader's forest before this time has passed.
	mergeProbation = 10 * time.Second
)

// call is an unfinished call of a job's Plan, Merge or Finish. call is queued, or assigned to a
// worker. If the worker of a call dies, the call is quarantined: it runs alone, on a worker that is
// reserved for quarantined work.
type call struct {
	function   wire.Function
	node       jobs.Node   // of Merge
	assignment *assignment // the assignment of the call; nil while the call is queued
	givenUp    bool        // true if the call is a merge that the leader has given up; the merge's code may still run in the leader and kill it
	done       bool        // true if the call has returned and was removed from the callList
	queuedAt   time.Duration

	fromStorage bool // true if the operands must be read from storage, because fetching one from its holder has failed

	failed      int           // number of attempts that returned an error
	deaths      int           // number of workers that died while the call was assigned to them
	due         time.Duration // time at which the backoff after the last failure ends
	avoidWorker string        // ID of the worker on which the call failed last
}

func (c *call) quarantined() bool { return c.deaths > 0 }

// deathsAfterOne returns the call's number of deaths, assuming that the worker of its assignment dies now.
// After the first death, further deaths count only if the call ran alone, because only then the call must be
// the cause.
func (c *call) deathsAfterOne() int {
	if c.assignment != nil && c.assignment.quarantined {
		return c.deaths + 1
	}
	return max(c.deaths, 1)
}

// String returns a description of the call for errors and logs.
func (c *call) String() string {
	if c.function == wire.Merge {
		return fmt.Sprintf("Merge of node %v", c.node)
	}
	return c.function.String()
}

// callList contains the unfinished calls of a job, in the order in which they were added.
type callList struct {
	list   []*call
	record []store.CallRecord // records from the manifest for calls that have not been added again
}

// find returns the call of a function, or nil.
func (l *callList) find(function wire.Function, node jobs.Node) *call {
	i := slices.IndexFunc(l.list, func(c *call) bool { return c.function == function && c.node == node })
	if i < 0 {
		return nil
	}
	return l.list[i]
}

// addCall queues a call. If the manifest has a record of the call, its deaths and failures are
// taken over.
func (l *Ledger) addCall(j *job, function wire.Function, node jobs.Node) {
	if j.ending() || j.calls.find(function, node) != nil {
		return
	}
	c := &call{function: function, node: node, queuedAt: l.now}
	for i, r := range j.calls.record {
		if r.Function == function.String() && r.Node == node {
			c.failed, c.deaths = r.Failed, r.Deaths
			j.calls.record = slices.Delete(j.calls.record, i, i+1)
			break
		}
	}
	j.calls.list = append(j.calls.list, c)
	l.queueGrew = true
	if blamedCall(j, c.deaths) {
		l.fail(j, blameCall(c, "an earlier leader"))
	}
}

// callDone removes a call that has returned, or whose result is known from another source.
func (j *job) callDone(c *call) {
	c.done = true
	j.calls.list = slices.DeleteFunc(j.calls.list, func(o *call) bool { return o == c })
	j.checkpoint.dirty = true
}

// mergesDone removes the calls of Merge for nodes within a finished span.
func (j *job) mergesDone(span jobs.Span) {
	for _, c := range slices.Clone(j.calls.list) {
		if c.function == wire.Merge && span.Contains(j.tree.Span(c.node)) {
			j.callDone(c)
		}
	}
}

// assignCalls gives a worker the calls that it should have.
func (l *Ledger) assignCalls(w *worker) {
	for _, j := range l.jobs {
		for _, c := range j.calls.list {
			if !l.canCall(w, j, c) {
				continue
			}
			if w.calls >= w.callSlots && len(j.heldOperands(c)) == 0 && l.anotherCanBegin(w, j, c) {
				break
			}
			l.assign(w, j, assignment{call: c})
		}
	}
}

// anotherCanBegin reports whether a worker can begin a call at once, apart from w and the leader's own worker.
func (l *Ledger) anotherCanBegin(w *worker, j *job, c *call) bool {
	return slices.ContainsFunc(l.workers, func(o *worker) bool {
		return o != w && o.id != l.cfg.Self && o.calls < o.callSlots && l.takesCalls(o, j) && o.fetches(j, c)
	})
}

// canCall reports whether a queued call can be assigned to a worker now. Calls of Plan and Finish
// may take long, so a worker gets only as many of them as it can run at once. The leader's own
// worker gets a call only if no other worker can make it, or if no other worker has been able to
// begin it for some time, because a call may kill its process.
func (l *Ledger) canCall(w *worker, j *job, c *call) bool {
	if !l.mayAssign(c) || !l.takesCalls(w, j) || w.calls >= maxCalls {
		return false
	}
	free := w.callSlots - w.longCalls // merges must not wait for calls of Plan or Finish, which may take long
	switch {
	case free <= 0 || c.function == wire.Merge && w.calls >= min(free*maxPerSlot, maxMerges):
		return false
	case c.avoidWorker == w.id && l.now < c.due+l.cfg.RetryAtMost && l.anotherTakesCalls(w, j, c):
		return false
	}
	if !w.fetches(j, c) {
		return false
	}
	if best := l.place(j, c); best == w {
		return true
	} else if best != nil && l.now < c.queuedAt+leaderMakesAfter {
		return false
	}
	return w.id != l.cfg.Self || !l.anotherTakesCalls(w, j, c) || l.now >= c.queuedAt+leaderMakesAfter && !l.anotherCanBegin(w, j, c)
}

// countCall adds n to the worker's counts of calls.
func (w *worker) countCall(c *call, n int) {
	w.calls += n
	if c.function != wire.Merge {
		w.longCalls += n
	}
}

// takesCalls reports whether a worker can make calls of a job.
func (l *Ledger) takesCalls(w *worker, j *job) bool {
	return !w.draining && !w.reserved && !j.ending() && w.callSlots > 0 && w.knows(j)
}

// anotherTakesCalls reports whether a worker other than w can make a call.
func (l *Ledger) anotherTakesCalls(w *worker, j *job, c *call) bool {
	return slices.ContainsFunc(l.workers, func(o *worker) bool { return o != w && l.takesCalls(o, j) && o.fetches(j, c) })
}

// For each queued call of a job, nudgeForCalls asks one worker that can begin the call at once for a report.
// Other workers need no nudge, because they report when one of their calls returns.
func (l *Ledger) nudgeForCalls(j *job) {
	if !slices.ContainsFunc(j.calls.list, l.mayAssign) {
		return
	}
	type candidate struct {
		worker *worker
		free   int
	}
	var idle []candidate // workers that can begin a call at once, first those that were already nudged
	for _, w := range l.workers {
		if free := w.callSlots - w.calls; free > 0 && l.takesCalls(w, j) {
			idle = append(idle, candidate{w, free})
		}
	}
	slices.SortStableFunc(idle, func(a, b candidate) int {
		switch {
		case a.worker.nudged == b.worker.nudged:
			return cmp.Compare(a.worker.calls, b.worker.calls)
		case a.worker.nudged:
			return -1
		}
		return 1
	})
	for _, c := range j.calls.list {
		if len(idle) == 0 {
			return
		}
		i := slices.IndexFunc(idle, func(o candidate) bool { return l.canCall(o.worker, j, c) })
		if i < 0 {
			continue
		}
		l.nudge(idle[i].worker)
		if idle[i].free--; idle[i].free == 0 {
			idle = slices.Delete(idle, i, i+1)
		}
	}
}

// mayAssign reports whether a call is queued, its backoff is over, and it need not run on a reserved worker.
func (l *Ledger) mayAssign(c *call) bool {
	return c.assignment == nil && !c.quarantined() && l.now >= c.due
}

// stealCalls withdraws calls that other workers have not begun, so that they can be assigned to a
// worker that can begin them at once.
func (l *Ledger) stealCalls(w *worker) {
	free := w.callSlots - w.calls
	for _, j := range l.jobs {
		if free <= 0 || !l.takesCalls(w, j) || l.sparesLeader(w, j) {
			continue
		}
		for _, c := range j.calls.list {
			a := c.assignment
			if free > 0 && a != nil && a.worker != w && l.mayMove(j, c, w) && a.state == stateConfirmed && a.cut == nil && a.worker.calls > a.worker.callSlots {
				a.cutAt(0, nil)
				l.nudge(a.worker)
				free--
			}
		}
	}
}

// mayMove reports whether a call may be moved to another worker. A call may not be moved if
// operands of the call are held, and the other worker holds none of them.
func (l *Ledger) mayMove(j *job, c *call, to *worker) bool {
	held := j.heldOperands(c)
	return len(held) == 0 || slices.ContainsFunc(held, func(o *treeNode) bool { return o.held.worker == to.id })
}

// reconcileCall compares the assignment of a call with the worker's report. If the worker
// does not hold the call and has not reported the call's result, the call is queued.
func (l *Ledger) reconcileCall(a *assignment, reported wire.HeldSpan, holds bool) {
	if a.cut != nil && a.cut.sent {
		a.removeCut() // the report acknowledges the cut
	}
	switch {
	case !holds:
		l.release(a)
		l.queueGrew = true
		return
	case reported.Running && a.state != stateRunning:
		a.state, a.progressAt = stateRunning, l.now
	case !reported.Running:
		a.state = stateConfirmed
	}
	if a.call.done && !a.obsolete {
		a.obsolete = true
		a.cutAt(0, nil)
	}
}

// adoptCall takes over a call of Plan that an earlier leader assigned, if the job has no plan yet.
// Any other call that an earlier leader assigned is withdrawn, because its operands may differ from
// this leader's operands.
func (l *Ledger) adoptCall(w *worker, j *job, s wire.HeldSpan) {
	c := j.calls.find(s.Function, s.Node)
	if s.Function != wire.Plan || c == nil || c.assignment != nil || s.ID.Epoch >= l.cfg.Epoch {
		w.receipt.Cuts = append(w.receipt.Cuts, wire.Cut{ID: s.ID})
		if s.Running { // the running call cannot be stopped, and occupies the worker
			w.callSlots = max(0, w.callSlots-1)
			w.strayCalls++
		}
		return
	}
	state := stateConfirmed
	if s.Running {
		state = stateRunning
	}
	c.assignment = &assignment{id: s.ID, worker: w, job: j, share: w.share(j), call: c, state: state, progressAt: l.now}
	l.addAssignment(c.assignment)
}

// onOutput handles the output of a call of Plan or Finish.
func (l *Ledger) onOutput(j *job, w *worker, o *wire.Output, ref Ref) {
	c := j.calls.find(o.Function, jobs.Node{})
	if c == nil || o.Function == wire.Finish && o.Epoch != l.cfg.Epoch {
		l.dropPartials(ref) // another worker has already returned the output, or an earlier leader has chosen the root
		return
	}
	j.callDone(c)
	j.builds.add(w.build())
	if o.Function == wire.Plan {
		l.do(StorePlan{j.spec.ID, o.Partitions, ref})
	} else {
		// If a worker and the leader died, the number of the worker's executions is lost, although other
		// workers may have merged its results. In this case the number of partitions in the result is the
		// minimum.
		if j.large {
			j.executed = max(j.executed, j.tree.Partitions()-uint64(j.skipped.len))
		}
		l.end(j, store.Completed, "", ref)
	}
	l.dropPartials(ref)
}

// onPlanned makes the job's partitions available when the plan is durable.
func (l *Ledger) onPlanned(j *job, e JobPlanned) {
	tree, err := jobs.NewTree(e.Partitions)
	if err != nil || j.planned() || j.ending() {
		return
	}
	if c := j.calls.find(wire.Plan, jobs.Node{}); c != nil { // the plan was already in storage
		j.callDone(c)
	}
	j.tree, j.forest = tree, newForest(tree)
	j.opening.Partitions, j.opening.Data, j.opening.InStore = e.Partitions, e.Data, e.InStore
	j.queue.fresh.add(jobs.Span{Hi: e.Partitions})
	j.display = rateDisplay{measuredAt: l.now}
	j.checkpoint.dirty = true
	for _, w := range l.workers {
		if i, found := w.findShare(j.spec.ID); found {
			w.shares[i].opened = false // if the worker already has the data for opening the job, these data lack the plan
		}
	}
	l.queueGrew = true
}

// onMergeSlow makes workers do all further merges of a job. If a merge does not return, a worker loses only a
// slot, but the leader would stop.
func (l *Ledger) onMergeSlow(j *job, n jobs.Node) {
	if _, _, wanted := j.forest.operands(n); j.ending() || !wanted {
		return
	}
	j.merges.assigned = true
	l.addCall(j, wire.Merge, n)
	if c := j.calls.find(wire.Merge, n); c != nil {
		c.givenUp = true
		j.checkpoint.request() // the next leader must know that workers do the merges
	}
}

// onCallFailed counts a failed attempt at a call.
func (l *Ledger) onCallFailed(j *job, w *worker, f *wire.Failure) {
	c := j.calls.find(f.Function, f.Node)
	if c == nil {
		return
	}
	if f.Holder != "" {
		l.onFetchFailed(j, c, w, f)
		return
	}
	c.failed++
	c.due, c.avoidWorker = l.now+l.backoff(c.failed), w.id
	switch {
	case f.Permanent:
		l.fail(j, fmt.Sprintf("%v failed permanently on worker %s: %s", c, w.id, f.Error))
	case c.failed >= max(1, j.spec.MaxAttempts):
		l.fail(j, fmt.Sprintf("%v failed %s, last on worker %s: %s", c, times(c.failed), w.id, f.Error))
	default:
		l.log(j.spec.ID, w.id, "%v failed, attempt %d of %d: %s", c, c.failed, j.spec.MaxAttempts, f.Error)
	}
}

// reclaimCall releases a call of a worker that was removed. If died is true, the worker's process
// died, and the call may be the cause.
func (l *Ledger) reclaimCall(a *assignment, died bool) {
	c, j := a.call, a.job
	if died {
		c.deaths = c.deathsAfterOne()
		j.wantStored(c, func(holder string) bool { return holder != a.worker.id }) // if the operands are in storage, they survive the next death
		j.spareLeaderUntil = l.now + leaderMakesAfter
		j.checkpoint.request() // the next leader must know about the death
	}
	l.release(a)
	l.queueGrew = true
	if !c.done && !j.ending() && blamedCall(j, c.deaths) {
		l.fail(j, blameCall(c, a.worker.id))
	}
}

// blamedCall reports whether the number of deaths proves that a call kills its workers. One death
// more than the allowed number is needed, because the first death may have another cause. Each
// later death counts only if the call ran alone.
func blamedCall(j *job, deaths int) bool {
	return deaths >= 1+max(1, min(j.spec.MaxAttempts, killsToBlame))
}

// blameCall returns the reason for failing a job whose call kills its workers.
func blameCall(c *call, lastWorker string) string {
	return fmt.Sprintf("%v kills its worker: %d died while it was assigned to them, the last was %s", c, c.deaths, lastWorker)
}

// quarantinedCall returns a queued call of a job that must run alone and that a worker can
// begin, or nil.
func (l *Ledger) quarantinedCall(w *worker, j *job) *call {
	i := slices.IndexFunc(j.calls.list, func(c *call) bool {
		return c.quarantined() && c.assignment == nil && l.now >= c.due && w.callSlots > 0 && w.fetches(j, c)
	})
	if i < 0 {
		return nil
	}
	return j.calls.list[i]
}

// resumeCalls restores the calls from the manifest's records. If the last leader died, the cause may be a call
// in its own process. The same applies to a leader that is only silent, because writing the traceback of a
// large stack takes seconds.
func (l *Ledger) resumeCalls(j *job, list []store.CallRecord, leaderDied bool) {
	for _, r := range list {
		if leaderDied {
			r.Deaths = max(r.Deaths, r.Led)
		}
		r.Led = 0
		if r.Deaths > 0 || r.Failed > 0 {
			j.calls.record = append(j.calls.record, r)
		}
		if r.Deaths > 0 && r.Function == wire.Merge.String() {
			j.merges.assigned = true
		}
	}
}

func (c *call) toRecord() store.CallRecord {
	return store.CallRecord{Function: c.function.String(), Node: c.node, Failed: c.failed, Deaths: c.deaths}
}

// snapshotCalls returns the records of calls for the next manifest. A call of the leader's own worker, or a
// merge that the leader has given up, may kill the leader. For these calls the record also contains the number
// of deaths to assume if the leader dies.
func (l *Ledger) snapshotCalls(j *job) []store.CallRecord {
	list := slices.Clone(j.calls.record)
	for _, c := range j.calls.list {
		r := c.toRecord()
		if c.assignment != nil && c.assignment.worker.id == l.cfg.Self && !l.stopping {
			r.Led = c.deathsAfterOne()
		}
		if c.givenUp && !l.stopping {
			r.Led = max(r.Led, c.deaths, 1)
		}
		if r.Failed > 0 || r.Deaths > 0 || r.Led > 0 {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b store.CallRecord) int {
		return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.Node.Level, b.Node.Level), cmp.Compare(a.Node.Index, b.Node.Index))
	})
	return list
}

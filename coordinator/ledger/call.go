package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

const (
	// maxCalls is the maximum number of calls that are assigned to a worker that is not hung. maxAssigned is the maximum
	// number of its calls and spans, which is below session.MaxHeld.
	maxCalls    = 264
	maxAssigned = 2040
	// maxAhead is the maximum number of calls of Plan and Finish per call slot, while these calls take at
	// most shortCall each.
	maxAhead  = 8
	shortCall = 100 * time.Millisecond
	// maxMerges is the maximum number of merges among the calls of a worker, so that other calls do not wait
	// for many merges.
	maxMerges = 256
	// leaderMakesAfter is the time after which the leader's own worker may run a call or a
	// quarantined partition that no other worker has begun.
	leaderMakesAfter = 5 * time.Second
	// maxOperandBytes bounds the size of all operands in a receipt. Calls whose operands exceed
	// maxOperandBytes go into the next receipt. A receipt with only one call may exceed
	// maxOperandBytes.
	maxOperandBytes = 512 << 10
	// mergeProbation is the time after a leader's death during which workers do all merges of the
	// resumed jobs, because a merge may have killed the dead leader. It is longer than the time in
	// which workers report their items to a new leader.
	mergeProbation = 10 * time.Second
)

// call is an unfinished call of a job's Plan, Merge, Finish or Estimate. A call whose worker died is
// quarantined: it runs alone, on a worker that is reserved for quarantined work.
type call struct {
	function   wire.Function
	node       engine.Node // node to merge; used only by a call of Merge
	prefix     uint64      // number of partitions that are judged; used only by a call of Estimate
	name       string      // name of the function for people, if Finish stands for another one
	assignment *assignment // the assignment of the call; nil while the call is queued
	givenUp    bool        // the leader has given up the merge; the merge's code may still run in the leader and kill it
	done       bool        // the call has returned and was removed from the callList
	slow       bool        // the call did not return within besideFor beside the call slots of a hung worker
	queuedAt   time.Duration

	fromStorage bool // the operands must be read from storage, because fetching an operand from its holder has failed

	failed      int           // number of attempts at the call that returned an error
	deaths      int           // number of workers that died while the call was assigned to them
	alone       time.Duration // time for which the call has run alone on workers that died
	due         time.Duration // time at which the backoff after the last failure ends
	avoidWorker string        // ID of the worker on which the call failed last
}

func (c *call) quarantined() bool { return c.deaths > 0 }

// deathsAfterOne returns the call's number of deaths if its worker died now. After the first death
// of a call, further deaths count only if the call ran alone, because only then the call must be
// the cause.
func (c *call) deathsAfterOne() int {
	if c.assignment != nil && c.assignment.quarantined {
		return c.deaths + 1
	}
	return max(c.deaths, 1)
}

// String returns a description of the call for errors and logs.
func (c *call) String() string {
	switch c.function {
	case wire.Merge:
		return fmt.Sprintf("Merge of node %v", c.node)
	case wire.Finish:
		return cmp.Or(c.name, "Finish")
	case wire.Estimate:
		return fmt.Sprintf("Estimate or Stop of the first %d partitions", c.prefix)
	}
	return c.function.String()
}

// addCall queues a call. If the manifest has a record of the call, the new call starts with the
// recorded deaths and failures.
func (l *Ledger) addCall(j *job, function wire.Function, node engine.Node) {
	if j.ending() || j.calls.find(function, node) != nil {
		return
	}
	c := &call{function: function, node: node, queuedAt: l.now}
	if function == wire.Estimate {
		c.prefix = engine.NextRung(j.prefixes.judged())
	}
	if function == wire.Finish && j.round.Rounds {
		c.name = j.round.function()
	}
	for i, r := range j.calls.record {
		if r.Function == function.String() && r.Node == node {
			c.failed, c.deaths, c.alone = r.Failed, r.Deaths, r.Alone
			j.calls.record = slices.Delete(j.calls.record, i, i+1)
			break
		}
	}
	j.calls.add(c)
	l.queueGrew = true
	if c.quarantined() && l.blamedCall(j, c) {
		l.deaths.forget(j)
		l.fail(j, blameCall(c, "an earlier leader"))
	}
}

// callDone removes a call that has returned, or whose result is known from another source.
func (j *job) callDone(c *call) {
	j.calls.remove(c)
	j.checkpoint.dirty = true
}

// mergesDone removes the queued merges of nodes within a finished span.
func (j *job) mergesDone(span engine.Span) {
	for _, c := range j.calls.within(j.tree, span) {
		j.callDone(c)
	}
}

// assignCalls assigns queued calls to a worker.
func (l *Ledger) assignCalls(w *worker) {
	if l.hung(w) {
		withdrawQueued(w)
	}
	for _, j := range l.jobs {
		for c := range j.calls.queued() {
			if !l.canCall(w, j, c) {
				continue
			}
			if w.calls >= w.callSlots && len(j.heldOperands(c)) == 0 && l.anotherCanBegin(w, j, c) {
				break
			}
			l.assign(w, j, assignment{call: c, beside: l.hung(w)})
		}
	}
}

// anotherCanBegin reports whether a worker can begin a call at once; it ignores w and the leader's
// own worker.
func (l *Ledger) anotherCanBegin(w *worker, j *job, c *call) bool {
	return slices.ContainsFunc(l.workers, func(o *worker) bool {
		return o != w && o.id != l.cfg.Self && o.calls < o.callSlots && l.takesCalls(o, j) && o.fetches(j, c)
	})
}

// canCall reports whether a queued call can be assigned to a worker now. Calls of Plan and Finish
// may take long, so a worker gets more of these calls than it can run at once only while they are short. The leader's
// own worker gets a call only if other workers cannot make it, fail to make it, or have not begun it
// for some time, because a call may kill its process.
func (l *Ledger) canCall(w *worker, j *job, c *call) bool {
	if !l.mayAssign(c) || !l.takesCalls(w, j) {
		return false
	}
	hung := l.hung(w)
	free := w.callSlots - w.longCalls // merges must not wait for slow calls of Plan or Finish
	switch {
	case hung && !w.makesBeside(c) || !hung && (w.calls >= maxCalls || len(w.assignments) >= maxAssigned):
		return false
	case c.function == wire.Merge && !hung && (free <= 0 || w.calls >= min(free*maxPerSlot, maxMerges)):
		return false
	case c.function != wire.Merge && !hung && free <= 0 && !l.takesAhead(w):
		return false
	case l.avoids(c, w) && l.anotherTakesCalls(w, j, c):
		return false
	}
	if !w.fetches(j, c) {
		return false
	}
	if best := l.bestHolder(j, c); best == w {
		return true
	} else if best != nil && l.now < c.queuedAt+leaderMakesAfter {
		return false
	}
	return w.id != l.cfg.Self || !l.anotherTakesCalls(w, j, c) || l.now >= c.queuedAt+leaderMakesAfter && !l.anotherCanBegin(w, j, c)
}

// takesAhead reports whether a worker gets another call of Plan or Finish although all of its call
// slots are taken, so that it begins one short call after another without a report in between. A
// call that is not short holds up no further calls. The calls that it already holds up are stolen.
func (l *Ledger) takesAhead(w *worker) bool {
	return w.longCalls < maxAhead*w.callSlots && !slices.ContainsFunc(w.assignments, func(a *assignment) bool {
		return a.call != nil && a.call.function != wire.Merge && l.now-a.progressAt > shortCall
	})
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
	return !w.draining && !w.reserved && !j.ending() && (w.callSlots > 0 || l.hung(w)) && w.knows(j)
}

// avoids reports whether a call failed last on a worker, and should be retried on another.
func (l *Ledger) avoids(c *call, w *worker) bool {
	return c.avoidWorker == w.id && l.now < c.due+l.cfg.RetryAtMost
}

// anotherTakesCalls reports whether a worker other than w can make a call, and did not fail to make it last.
func (l *Ledger) anotherTakesCalls(w *worker, j *job, c *call) bool {
	return slices.ContainsFunc(l.workers, func(o *worker) bool {
		return o != w && !l.avoids(c, o) && l.takesCalls(o, j) && o.fetches(j, c)
	})
}

// For each queued call of a job, nudgeForCalls asks one worker that can begin the call at once for a report.
// Other workers need no nudge, because they report when one of their calls returns.
func (l *Ledger) nudgeForCalls(j *job) {
	if !j.calls.any(l.mayAssign) {
		return
	}
	type candidate struct {
		worker *worker
		free   int
	}
	var idle []candidate // workers that can begin a call at once; workers that were already nudged come first
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
	for c := range j.calls.queued() {
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

// mayAssign reports whether a call is queued, its backoff has ended, and it is not quarantined.
func (l *Ledger) mayAssign(c *call) bool {
	return c.assignment == nil && !c.quarantined() && l.now >= c.due
}

// stealCalls withdraws calls that other workers have not begun, so that w, which can begin them at
// once, gets them.
func (l *Ledger) stealCalls(w *worker) {
	free := w.callSlots - w.calls
	for _, j := range l.jobs {
		if free <= 0 || !l.takesCalls(w, j) {
			continue
		}
		for c := range j.calls.all() {
			a := c.assignment
			waits := a != nil && a.worker != w && a.state == stateConfirmed && a.cut == nil && a.worker.calls > a.worker.callSlots
			if free > 0 && waits && l.mayMove(j, c, w) && l.maySteal(w, j, c) {
				a.cutAt(0, nil)
				l.nudge(a.worker)
				free--
			}
		}
	}
}

// maySteal reports whether w may take a call from another worker. The leader's own worker takes
// only a call that no other worker has begun for some time.
func (l *Ledger) maySteal(w *worker, j *job, c *call) bool {
	return !l.exemptsLeader(w, j) || l.now >= c.queuedAt+leaderMakesAfter && !l.anotherCanBegin(w, j, c)
}

// mayMove reports whether a call may be moved to another worker. A call with held operands may be
// moved only to the worker that would get it if it were not assigned, otherwise it would come back.
func (l *Ledger) mayMove(j *job, c *call, to *worker) bool {
	return len(j.heldOperands(c)) == 0 || l.bestHolder(j, c) == to
}

// reconcileCall compares an assigned call with the worker's report. If the worker neither holds the
// call nor has reported its result, the call is queued again.
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

// adoptCall handles a call that an earlier leader assigned: a worker keeps a call of Plan if the
// job has no plan yet. All other calls of earlier leaders are withdrawn, because this leader's
// operands may differ.
func (l *Ledger) adoptCall(w *worker, j *job, s wire.HeldSpan) {
	c := j.calls.find(s.Function, s.Node)
	if s.Function != wire.Plan || c == nil || c.assignment != nil || s.ID.Epoch >= l.cfg.Epoch {
		w.receipt.Cuts = append(w.receipt.Cuts, wire.Cut{ID: s.ID})
		if s.Running { // the running call cannot be stopped and occupies a call slot of the worker
			w.callSlots = max(0, w.callSlots-1)
			w.earlierCalls++
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

// onOutput handles the output of a call of Plan, Finish or Estimate.
func (l *Ledger) onOutput(j *job, w *worker, o *wire.Output, ref Ref) {
	if o.Function == wire.Estimate {
		w.judgements = append(w.judgements, judgement{j, o})
		l.dropPartials(ref)
		return
	}
	c := j.calls.find(o.Function, engine.Node{})
	if c == nil || o.Function == wire.Finish && (o.Epoch != l.cfg.Epoch || o.Lacking != j.lacking(j.result())) {
		// Another worker has already returned the output, or an earlier leader has chosen the result, or
		// the result was computed before a partition was skipped or counted again.
		l.dropPartials(ref)
		return
	}
	j.callDone(c)
	j.builds.add(w.build())
	switch {
	case o.Function == wire.Plan:
		l.do(StorePlan{j.spec.ID, o.Partitions, ref, o.Found})
	case o.Continues:
		if o.StateSize > 0 {
			j.nextSpread = stateSpread{o.StateSize, o.StateSum, []string{w.id}}
		}
		l.countMissing(j)
		l.endRound(j, EndRound{State: ref, Value: o.Value, Last: o.Last})
	default:
		l.countMissing(j)
		l.end(j, store.Completed, "", ref)
	}
	l.dropPartials(ref)
}

// countMissing counts executions of finished partitions that may not have been counted.
func (l *Ledger) countMissing(j *job) {
	// If a worker and the leader both died, the worker's count of executions is lost, although
	// other workers may have merged its results. Therefore the count of executions is raised to
	// the number of partitions in the result.
	if j.uncounted || j.large || j.forest.root.large {
		j.executed = max(j.executed, j.round.Earlier+j.result().Len()-uint64(j.skipped.len))
	}
}

// onPlanned queues the job's partitions when the plan is durable.
func (l *Ledger) onPlanned(j *job, e JobPlanned) {
	tree, err := engine.NewTree(e.Partitions)
	if err != nil || j.planned() || j.ending() {
		return
	}
	if c := j.calls.find(wire.Plan, engine.Node{}); c != nil { // storage already contained a plan
		j.callDone(c)
	}
	j.setPlan(e.Plan, tree)
	l.resumeForest(j, e.Nodes)
	if j.reused = e.Reused; j.reused != nil {
		j.executed += j.reused.Partitions
		if len(e.Nodes) > 0 && !j.spec.StrictBuilds { // the only build of a job with strict builds is known
			j.builds.add(j.reused.Build)
		}
	}
	j.display = rateDisplay{measuredAt: l.now, done: j.forest.done()}
	j.checkpoint.dirty = true
	for _, w := range l.workers {
		if i, found := w.findShare(j.spec.ID); found {
			w.shares[i].opened = false // a worker that opened the job without the plan must get the plan
		}
	}
	l.queueGrew = true
	for _, n := range e.Nodes {
		l.mergeUp(j, n.Node)
	}
	l.judgeNext(j)
}

// onMergeSlow lets workers do all further merges of a job. A merge that does not return costs a
// worker only one slot, but it would block the leader.
func (l *Ledger) onMergeSlow(j *job, n engine.Node) {
	if _, _, wanted := j.forest.operands(n); j.ending() || !wanted {
		return
	}
	j.merges.assigned = true
	l.addCall(j, wire.Merge, n)
	if c := j.calls.find(wire.Merge, n); c != nil {
		c.givenUp = true
		j.checkpoint.request() // the next leader must know that workers merge
	}
}

// onCallFailed counts a failed attempt of a call.
func (l *Ledger) onCallFailed(j *job, w *worker, f *wire.Failure) {
	c := j.calls.find(f.Function, f.Node)
	if c == nil {
		return
	}
	if f.Holder != "" {
		l.onFetchFailed(j, c, w, f)
		return
	}
	if f.Slow {
		c.slow = true
		l.log(j.spec.ID, w.id, "%v takes long and waits, calls that take longer occupy all slots", c)
		return
	}
	c.failed++
	c.due, c.avoidWorker = l.now+l.backoff(c.failed), w.id
	last := f.Permanent || c.failed >= max(1, j.spec.MaxAttempts)
	l.logFailure(j, w, nil, c.failed, last, fmt.Sprintf("%v failed, attempt %d of %d: %s", c, c.failed, j.spec.MaxAttempts, f.Error))
	switch {
	case f.Permanent:
		l.fail(j, fmt.Sprintf("%v failed permanently on worker %s: %s", c, w.id, f.Error))
	case c.failed >= max(1, j.spec.MaxAttempts):
		l.fail(j, fmt.Sprintf("%v failed %s, last on worker %s: %s", c, times(c.failed), w.id, f.Error))
	}
}

// reclaimCall releases a call of a worker that was removed. If died is true, the worker's process
// died, and the call becomes a crash suspect.
func (l *Ledger) reclaimCall(a *assignment, died bool) {
	c, j := a.call, a.job
	if died {
		if a.quarantined {
			c.alone += l.now - a.progressAt
		}
		c.deaths = c.deathsAfterOne()
		j.wantStored(c, func(holder string) bool { return holder != a.worker.id }) // operands in storage survive the next death of a worker
		j.leaderExemptUntil = l.now + leaderMakesAfter
		j.checkpoint.request() // the next leader must know about the worker's death
	}
	l.release(a)
	l.queueGrew = true
	if died && !c.done && !j.ending() && l.blamedCall(j, c) {
		l.deaths.forget(j)
		l.fail(j, blameCall(c, a.worker.lastSeen()))
	}
}

// blamedCall reports whether a call must be the cause of the deaths of its workers. The first death may
// have another cause, because the call did not run alone.
func (l *Ledger) blamedCall(j *job, c *call) bool {
	return l.kills(j, c.String(), c.deaths-1, c.alone)
}

// blameCall returns the reason for failing a job whose call kills its workers.
func blameCall(c *call, lastWorker string) string {
	return fmt.Sprintf("%v kills its worker: %d died while it was assigned to them, the last was %s", c, c.deaths, lastWorker)
}

// quarantinedCall returns a queued quarantined call of a job that a worker can begin, or nil.
func (l *Ledger) quarantinedCall(w *worker, j *job) *call {
	for c := range j.calls.all() {
		if c.quarantined() && c.assignment == nil && l.now >= c.due && w.callSlots > 0 && w.fetches(j, c) {
			return c
		}
	}
	return nil
}

// resumeCalls restores the calls from the manifest's records. If the last leader died, a call in
// that leader's process may be the cause. A leader that is silent counts as dead, because a
// crashing process may write the traceback of a large stack for seconds.
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
	return store.CallRecord{Function: c.function.String(), Node: c.node, Failed: c.failed, Deaths: c.deaths, Alone: c.alone}
}

// snapshotCalls returns the records of calls for the next manifest. The leader may be killed by a
// call of its own worker, or by a merge that it has given up. The record of such a call also
// contains the number of deaths to assume if the leader dies.
func (l *Ledger) snapshotCalls(j *job) []store.CallRecord {
	list := slices.Clone(j.calls.record)
	for c := range j.calls.all() {
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

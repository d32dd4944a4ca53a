package ledger

import (
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// prefixes is the state of the prefixes of a job with estimates. The rungs are judged one after the other, by a
// call of Estimate each, so that a stop does not depend on what happens to be finished.
type prefixes struct {
	estimates []jobs.Estimated // estimates of the judged rungs, in order and without gaps
	stopped   *jobs.Stopped    // the prefix that suffices; nil if none is known
	durableIn uint64           // number of the first checkpoint that contains the last judgement or the stop
	broken    *brokenPartition // the lowest partition that has failed for good, or nil
}

// brokenPartition is a partition because of which a job fails, unless a prefix below it suffices.
type brokenPartition struct {
	at     uint64
	reason string
}

// judged returns the last judged rung, or 0.
func (p *prefixes) judged() uint64 {
	if n := len(p.estimates); n > 0 {
		return p.estimates[n-1].Partitions
	}
	return 0
}

// result returns the partitions that the job's result contains: all, or those of the prefix that suffices. Some rounds
// have none.
func (j *job) result() engine.Span {
	switch s := j.prefixes.stopped; {
	case s != nil:
		return engine.Span{Hi: s.At}
	case j.round.only():
		return engine.Span{}
	}
	return engine.Span{Hi: j.tree.Partitions()}
}

// needed returns the partitions that must run: those of the result, but no partitions above one that has failed
// for good.
func (j *job) needed() engine.Span {
	span := j.result()
	if b := j.prefixes.broken; b != nil {
		span.Hi = min(span.Hi, b.at)
	}
	return span
}

// clip returns the part of a span that the job needs.
func (j *job) clip(span engine.Span) engine.Span {
	span.Hi = max(span.Lo, min(span.Hi, j.needed().Hi))
	return span
}

// anyMissing reports whether a span has an unfinished partition that the job needs.
func (j *job) anyMissing(span engine.Span) bool { return j.forest.anyMissing(j.clip(span)) }

// lookahead returns the number of queued partitions over which the next assignments are spread. If a prefix may
// suffice, these are a quarter of the partitions below them, so that little runs above the stop.
func (j *job) lookahead() uint64 {
	size := j.queue.size()
	if fresh := j.queue.fresh.spans; j.spec.Estimates && j.prefixes.stopped == nil && len(fresh) > 0 {
		size = min(size, fresh[0].Lo/4+1)
	}
	return size
}

// overtake returns a speculative copy of a partition that is overdue on another worker and holds up the judgement of
// the next rung. It takes the partitions that wait behind it. Otherwise w would run ever more partitions above a prefix
// that may suffice.
func (l *Ledger) overtake(w *worker, j *job) (speculative assignment, found bool) {
	if !j.spec.Estimates || j.prefixes.stopped != nil {
		return assignment{}, false
	}
	next := engine.NextRung(j.prefixes.judged())
	// At most about a quarter of the prefix is finished above it, or only its judgement is missing.
	if j.forest.done() <= next+next/4 || !j.forest.anyMissing(engine.Span{Hi: next}) {
		return assignment{}, false
	}
	for a := range j.assignments.all() {
		switch {
		case a.worker == w || a.call != nil || a.ran > 0 || a.cut != nil || a.duplicate != nil || a.quarantined || a.obsolete:
		case a.state == stateConfirmed && l.holdsUp(a.worker, j):
			l.take(w, a, a.span.Lo)
		case a.span.Lo >= next || !l.isLate(w, a):
		case a.span.Len() > 1:
			l.take(w, a, a.span.Lo+1)
		default:
			return l.speculate(w, a), true
		}
	}
	return assignment{}, false
}

// holdsUp reports whether a worker with busy slots should get no further partitions of a job with estimates, because a
// partition of the job is overdue on the worker. Further partitions would wait behind it, and with them the judgements.
func (l *Ledger) holdsUp(w *worker, j *job) bool {
	return j.spec.Estimates && j.prefixes.stopped == nil && slices.ContainsFunc(w.assignments, func(a *assignment) bool {
		return a.job == j && l.isOverdue(a)
	})
}

// take cuts an assignment of another worker, and gives w the partitions after the cut.
func (l *Ledger) take(w *worker, a *assignment, at uint64) {
	a.cutAt(at, w)
	l.nudge(a.worker)
}

// done returns the number of finished partitions that the job needs.
func (j *job) done() uint64 {
	switch {
	case j.round.Last: // those of the last finished round
		return j.tree.Partitions()
	case j.prefixes.stopped == nil:
		return j.forest.done()
	}
	return j.finishedIn(j.result())
}

// finishedIn returns the number of finished partitions in a span.
func (j *job) finishedIn(span engine.Span) uint64 {
	n := span.Len()
	for _, gap := range j.forest.missing(span) {
		n -= gap.Len()
	}
	return n
}

// separates reports whether the children of a node must not be merged: they are needed for a prefix that is not
// judged, or for the result, or not at all. The node must have a right child under the given name.
func (j *job) separates(parent engine.Node) bool {
	if !j.spec.Estimates {
		return false
	}
	hi := j.tree.Span(parent).Hi
	return hi > j.result().Hi || parent.Crosses() && engine.LastRung(hi) > j.prefixes.judged()
}

// isNeeded reports whether the forest may contain a node. It must not contain nodes above the prefix that
// suffices, and no node whose children are needed for a prefix.
func (j *job) isNeeded(n engine.Node) bool {
	switch span := j.tree.Span(n); {
	case !j.spec.Estimates:
		return true
	case span.Len() == 1:
		return span.Lo < j.result().Hi
	}
	left, _ := j.tree.Children(j.tree.Lift(n))
	return !j.separates(left.Parent())
}

// counts reports whether an item of a worker belongs to partitions that the job needs, or to no partitions.
func (j *job) counts(i Item) bool {
	switch {
	case !j.spec.Estimates:
		return true
	case i.Held != nil:
		return j.tree.Span(*i.Held).Lo < j.result().Hi
	case i.Partial != nil:
		return j.tree.Span(i.Partial.Node).Lo < j.result().Hi
	case i.Failure != nil && i.Failure.Function == wire.Map:
		return i.Failure.Partition < j.needed().Hi
	}
	return true
}

// hidesRung reports whether a worker has computed a node across a rung. Only a program of the same kind and version
// without estimates does this, and would do it again.
func (j *job) hidesRung(i Item) bool {
	n := i.Held
	if i.Partial != nil && i.Partial.MergedFor == 0 && !i.Partial.Stored {
		n = &i.Partial.Node
	}
	return n != nil && j.counts(i) && !j.isNeeded(*n)
}

// prefixNodes returns the tree nodes of a rung's prefix. It returns false if one of them is not finished.
func (j *job) prefixNodes(rung uint64) (list []*treeNode, finished bool) {
	for _, n := range j.tree.Prefix(rung) {
		path := j.forest.path(n)
		at := path[len(path)-1]
		if !at.finished || len(path) <= int(j.tree.Root().Level-n.Level) {
			return nil, false
		}
		if !at.empty() {
			list = append(list, at)
		}
	}
	return list, true
}

// hides reports whether partitions of a rung's prefix are merged with partitions above the rung, so that the prefix can no
// longer be the result.
func (j *job) hides(rung uint64) bool {
	return slices.ContainsFunc(j.tree.Prefix(rung), func(n engine.Node) bool {
		path := j.forest.path(n)
		return path[len(path)-1].finished && len(path) <= int(j.tree.Root().Level-n.Level)
	})
}

// resultNodes returns the tree nodes from which Finish computes the result: the root, or the nodes of the prefix
// that suffices. It returns false if one of them is not finished.
func (j *job) resultNodes() (list []*treeNode, finished bool) {
	switch root := j.forest.root; {
	case j.round.only():
		return nil, true
	case j.prefixes.stopped != nil:
		return j.prefixNodes(j.prefixes.stopped.At)
	case root.empty() || !root.finished:
		return nil, root.finished
	default:
		return []*treeNode{root}, true
	}
}

// finishedNodes returns the finished nodes for a manifest. Nodes above a prefix that suffices are not needed.
func (j *job) finishedNodes() []FinishedNode {
	list := j.forest.finishedNodes()
	if s := j.prefixes.stopped; s != nil {
		list = slices.DeleteFunc(list, func(n FinishedNode) bool { return j.tree.Span(n.Node).Lo >= s.At })
	}
	return list
}

// judgeNext requests what follows from the finished nodes: the call of Finish, the judgement of the next rung, or the
// checkpoint that keeps the whole nodes.
func (l *Ledger) judgeNext(j *job) {
	if j.ending() || !j.planned() {
		return
	}
	l.keepWhole(j)
	if list, finished := j.resultNodes(); finished {
		if len(list) == 0 && !j.round.only() {
			l.fail(j, "every partition was skipped")
			return
		}
		l.addCall(j, wire.Finish, engine.Node{})
		return
	}
	next := engine.NextRung(j.prefixes.judged())
	if !j.spec.Estimates || j.prefixes.stopped != nil || next >= j.tree.Partitions() {
		return
	}
	switch list, finished := j.prefixNodes(next); {
	case !finished:
	case len(list) == 0: // all partitions of the prefix were skipped, so there is nothing to judge
		l.judge(j, next, []byte("null"), false)
	default:
		l.addCall(j, wire.Estimate, engine.Node{})
	}
}

// dependsOnJudgement reports whether a call must not be made before the last judgement is durable. Otherwise the
// next leader might not accept the merged node, or might stop the job in time at another prefix.
func (j *job) dependsOnJudgement(c *call) bool {
	switch {
	case !j.spec.Estimates:
		return false
	case c.function == wire.Finish:
		return j.prefixes.stopped != nil
	case c.function == wire.Merge:
		left, _ := j.tree.Children(c.node)
		return left.Parent().Crosses()
	}
	return false
}

// judgement is the output of a call of Estimate.
type judgement struct {
	job    *job
	output *wire.Output
}

// judgeReported handles the judgements in a worker's report. They come after the nodes that the worker holds,
// because a stop counts the executions of finished nodes.
func (l *Ledger) judgeReported(w *worker) {
	list := w.judgements
	w.judgements = nil
	for _, one := range list {
		if !one.job.ending() {
			l.onEstimate(one.job, w, one.output)
		}
	}
}

// onEstimate handles the judgement that a call of Estimate has returned.
func (l *Ledger) onEstimate(j *job, w *worker, o *wire.Output) {
	c := j.calls.find(wire.Estimate, engine.Node{})
	rung := engine.NextRung(j.prefixes.judged())
	if c == nil || o.Epoch != l.cfg.Epoch || o.Partitions != rung || o.Lacking != j.lacking(engine.Span{Hi: rung}) {
		return // the prefix was judged before, or an earlier leader has chosen it, or a partition was skipped since
	}
	j.callDone(c)
	j.builds.add(w.build())
	l.judge(j, rung, slices.Clone(o.Data), o.Stop)
}

// judge records the judgement of the next rung. It requests the merges that were waiting for the judgement, and
// the judgement of the rung after it.
func (l *Ledger) judge(j *job, rung uint64, value []byte, stop bool) {
	p := &j.prefixes
	p.estimates = append(p.estimates, jobs.Estimated{Partitions: rung, Value: value, At: l.now - j.began})
	p.durableIn = j.checkpoint.requested + 1
	j.checkpoint.dirty = true
	if stop {
		l.stop(j, rung, false)
		return
	}
	next := engine.NextRung(rung)
	if b := p.broken; b != nil && next > b.at {
		l.fail(j, b.reason)
		return
	}
	var list []engine.Node
	j.forest.eachMaximal(engine.Span{Hi: next}, func(*treeNode) bool { return false }, func(n engine.Node, _ *treeNode) {
		if j.tree.Span(n).Hi <= next {
			list = append(list, n)
		}
	})
	for _, n := range list {
		l.mergeUp(j, n)
	}
	l.judgeNext(j)
}

// stop ends the work on all partitions above a prefix that suffices. They do not count.
func (l *Ledger) stop(j *job, at uint64, timed bool) {
	above := engine.Span{Lo: at, Hi: j.tree.Partitions()}
	executed := j.executed - min(j.executed, j.finishedIn(above))
	j.unskip(above)
	finished := j.finishedIn(engine.Span{Hi: at})
	j.executed = max(executed, finished-min(finished, uint64(j.skipped.len))) // executions may be missing from the count: see onOutput
	j.prefixes.stopped = &jobs.Stopped{At: at, Rung: engine.RungNumber(at), Timed: timed}
	j.prefixes.durableIn = j.checkpoint.request()
	l.log(j.spec.ID, "", "The first %d of %d partitions suffice (rung %d)", at, j.tree.Partitions(), engine.RungNumber(at))
	l.dropAbove(j, at)
	l.judgeNext(j)
}

// failAt fails a job because of a partition. If a prefix below the partition may suffice, the job continues until
// this is known, so that its end does not depend on how early the partition ran. The next leader runs the
// partition again.
func (l *Ledger) failAt(j *job, partition uint64, reason string) {
	p := &j.prefixes
	switch {
	case !j.spec.Estimates || engine.NextRung(p.judged()) > partition:
		l.fail(j, reason)
	case partition < j.needed().Hi:
		p.broken = &brokenPartition{partition, reason}
		l.log(j.spec.ID, "", "The job continues up to partition %d only: %s", partition, reason)
		l.dropAbove(j, partition)
	}
}

// dropAbove ends the work on all partitions from at on.
func (l *Ledger) dropAbove(j *job, at uint64) {
	above := engine.Span{Lo: at, Hi: j.tree.Partitions()}
	j.queue.remove(above)
	j.queue.failed.remove(above)
	for c := range j.calls.all() {
		if c.function == wire.Merge && j.tree.Span(c.node).Hi > at || c.function == wire.Estimate && j.prefixes.stopped != nil {
			j.callDone(c)
		}
	}
	for _, a := range slices.Collect(j.assignments.backward()) {
		switch {
		case a.call != nil || j.anyMissing(a.span):
		case a.state == statePlanned:
			l.release(a)
		default:
			a.obsolete = true
			a.cutAt(0, nil)
			l.nudge(a.worker)
		}
	}
}

// stopInTime ends a job when Spec.StopAfter has passed: a job with estimates with its largest finished prefix, and a
// job with rounds with the state of its current round. If no rung or round is finished yet, the job continues until the first
// one is.
func (l *Ledger) stopInTime(j *job) {
	limit := j.spec.StopAfter
	if limit == 0 || l.now-j.began < limit || !j.planned() || j.ending() {
		return
	}
	switch {
	case j.round.Rounds:
		if j.round.Number > 1 && !j.round.Last {
			l.endRound(j, EndRound{State: NoRef, Last: true, TimeUp: true})
		}
	case j.spec.Estimates && j.prefixes.stopped == nil && !l.recovery.active: // workers may hold more than the manifest contains
		l.stopAtPrefix(j)
	}
}

// stopAtPrefix ends a job with its largest finished prefix.
func (l *Ledger) stopAtPrefix(j *job) {
	if !j.forest.anyMissing(j.result()) {
		return // the job is about to end with all partitions
	}
	at := j.prefixes.judged()
	// Nodes may be merged across the last judged rung, but not across the next one. The prefix of the next rung then
	// lacks partitions only if they were lost with a worker.
	if next := engine.NextRung(at); j.hides(at) || !j.forest.anyMissing(engine.Span{Hi: next}) {
		at = next
	}
	merging := func(c *call) bool { // a worker may be changing a node of the prefix
		span := j.tree.Span(c.node)
		return c.function == wire.Merge && span.Lo < at && at < span.Hi
	}
	if at > 0 && at < j.tree.Partitions() && !j.calls.any(merging) {
		l.stop(j, at, true)
	}
}

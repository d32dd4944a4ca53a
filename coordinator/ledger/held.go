package ledger

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// fetchBackoff is how long a call waits after a failed fetch of an operand. During fetchBackoff the
// operand's holder is probed and told to store the operand.
const fetchBackoff = 200 * time.Millisecond

// heldNode identifies a node that a worker holds.
type heldNode struct {
	job  *job
	node engine.Node
}

// storedNode is a node that was written to storage but is not durable yet. Held nodes below a
// stored node are kept until a checkpoint makes the stored node durable.
type storedNode struct {
	node       engine.Node
	checkpoint uint64
}

// reconcileNodes compares the held nodes in a worker's report with the nodes that the worker held
// before. Nodes that the worker no longer holds are lost, and nodes that are not needed are
// released.
func (l *Ledger) reconcileNodes(w *worker, list []wire.HeldNode) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b wire.HeldNode) int { return -cmp.Compare(a.Node.Level, b.Node.Level) }) // sort ancestors before their descendants
	before := w.nodes
	w.nodes = nil
	held := make(map[heldNode]bool, len(list))
	for _, n := range list {
		j := l.jobsByID[n.Job]
		if j == nil {
			l.onUnknownJob(w, n.Job, 0)
			continue
		}
		s := w.share(j)
		switch {
		case j.ending(): // the worker learns of the job's end when the end is durable
		case j.prefixes.stopped != nil && j.tree.Span(n.Node).Hi > j.result().Hi && j.checkpoint.durable < j.prefixes.durableIn:
			// The node is released when the stop is durable. The next leader may otherwise need it.
		case !j.planned(): // an earlier leader has planned the job, and this leader will get the same plan
		case j.tree.Contains(n.Node) && l.hold(w, j, n):
			held[heldNode{j, n.Node}] = true
			w.nodes = append(w.nodes, heldNode{j, n.Node})
		default:
			s.release = append(s.release, n.Node)
		}
	}
	for _, n := range before {
		if !held[n] {
			l.loseNode(w, n)
		}
	}
}

// hold records that a worker holds a node. It returns false if the ledger does not need the node.
func (l *Ledger) hold(w *worker, j *job, n wire.HeldNode) (needed bool) {
	if !j.isNeeded(n.Node) {
		return false
	}
	if n.Lacking != j.lacking(j.tree.Span(n.Node)) || !j.admits(w.build()) {
		return false // other partitions are skipped now, or an earlier leader did not pin the job to a build
	}
	if !j.large && j.skipped.len > 0 {
		j.skipsIn = j.checkpoint.request()
	}
	if !j.large {
		j.large = true
		for _, finished := range j.forest.finishedNodes() {
			j.addStored(finished.Node)
		}
	}
	j.largest = max(j.largest, n.Size)
	needed, added := j.forest.hold(holding{worker: w.id, node: n.Node, size: n.Size, sum: n.Sum})
	if added {
		if j.calls.find(wire.Merge, n.Node) != nil {
			j.mergedBytes += n.Size
		}
		l.endTrial(j)
		j.builds.add(w.build())
		l.finished(j, n.Node)
	}
	return needed
}

// lacking returns a hash of the skipped partitions in a span, or 0 if no partition was skipped.
func (j *job) lacking(span engine.Span) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	sum := uint64(offset)
	for p := range j.skipped.from(skippedPartition(span.Lo)) {
		if uint64(*p) >= span.Hi {
			break
		}
		for shift := 0; shift < 64; shift += 8 {
			sum = (sum ^ uint64(*p)>>shift&0xff) * prime
		}
	}
	if sum == offset {
		return 0
	}
	return max(1, sum)
}

// loseNode records that a worker no longer holds a node. The node's partitions are missing again
// unless the caller has the partial or finished nodes below the node cover them.
func (l *Ledger) loseNode(w *worker, n heldNode) {
	j := n.job
	if j.ending() {
		return
	}
	lost := j.forest.lose(w.id, n.node)
	if lost.Empty() {
		return
	}
	j.withdrawAbove(n.node)
	j.checkpoint.dirty = true
	j.recompute(lost.Len())
	l.enqueueLost(j, lost)
	j.forest.eachMaximal(lost, func(*treeNode) bool { return false }, func(m engine.Node, _ *treeNode) {
		if lost.Contains(j.tree.Span(m)) {
			l.mergeUp(j, m)
		}
	})
}

// mergedByWorkers reports whether two siblings are large, so that workers merge them. If all
// workers run an old version that cannot hold partials, workers write large partials to storage,
// and the leader merges them.
func (l *Ledger) mergedByWorkers(j *job, left, right *treeNode) bool {
	switch {
	case left.held != nil || right.held != nil:
		return true
	case !left.large && !right.large:
		return false
	}
	return l.recovery.active || slices.ContainsFunc(l.workers, func(w *worker) bool { return w.hello.Holds && w.knows(j) })
}

// hasOperands reports whether the operands of a call are finished.
func (j *job) hasOperands(c *call) bool {
	switch c.function {
	case wire.Merge:
		_, _, ok := j.forest.operands(c.node)
		return ok
	case wire.Finish, wire.Estimate:
		_, ok := j.operands(c)
		return ok
	}
	return true
}

// withdrawAbove removes the calls that have lost an operand with a node: merges of its ancestors, and Finish and Estimate.
func (j *job) withdrawAbove(lost engine.Node) {
	withdraw := func(c *call) {
		if c != nil && !j.hasOperands(c) {
			j.withdraw(c)
		}
	}
	for n := j.tree.Lift(lost); ; n = j.tree.Lift(n.Parent()) {
		if withdraw(j.calls.find(wire.Merge, n)); n == j.tree.Root() {
			break
		}
	}
	withdraw(j.calls.find(wire.Finish, engine.Node{}))
	withdraw(j.calls.find(wire.Estimate, engine.Node{}))
}

// withdraw removes a call whose operands were lost. A record keeps the call's failures and deaths
// for the case that the call is added again.
func (j *job) withdraw(c *call) {
	if c.failed+c.deaths > 0 {
		j.calls.record = append(j.calls.record, c.toRecord())
	}
	j.callDone(c)
}

// enqueueLost queues the missing partitions of a span. Missing partitions that are still in a cut
// assignment are queued when the worker has given them back.
func (l *Ledger) enqueueLost(j *job, lost engine.Span) {
	var assigned spanSet
	for a := range j.assignments.all() {
		if a.span.Lo < lost.Hi && lost.Lo < a.span.Hi {
			assigned.add(a.span)
		}
	}
	lo := lost.Lo
	for _, s := range assigned.spans {
		if lo < s.Lo {
			l.enqueue(j, engine.Span{Lo: lo, Hi: s.Lo}, 0)
		}
		lo = max(lo, s.Hi)
	}
	if lo < lost.Hi {
		l.enqueue(j, engine.Span{Lo: lo, Hi: lost.Hi}, 0)
	}
}

// onStored records that a held node was written to storage.
func (l *Ledger) onStored(j *job, p *wire.Partial, node FinishedNode) {
	if p.Lacking != j.lacking(j.tree.Span(p.Node)) {
		l.dropPartials(node.Ref)
		return
	}
	l.finish(j, node, false)
}

// addStored registers a node that was written to storage but is not durable yet.
func (j *job) addStored(n engine.Node) {
	if j.large {
		j.stored = append(j.stored, storedNode{n, j.checkpoint.requested + 1})
	}
}

// releaseStored drops the nodes below nodes that have become durable. A worker that reports a dropped
// node again is told to release it.
func (j *job) releaseStored() {
	j.stored = slices.DeleteFunc(j.stored, func(s storedNode) bool {
		if s.checkpoint > j.checkpoint.durable {
			return false
		}
		j.forest.markDurable(s.node)
		return true
	})
}

// orderNodes tells a worker which of its held nodes it should write to storage. A draining worker is
// also told to release nodes that are durable: another worker may have stored such a node, and then
// the draining worker does not know that it may leave.
func (l *Ledger) orderNodes(w *worker) {
	for _, n := range w.nodes {
		at := n.job.forest.holdingOf(w.id, n.node)
		switch {
		case at == nil:
		case at.fragile() && (w.draining || at.held.storeWanted || l.worthStoring(w, n.job, at)):
			s := w.share(n.job)
			s.store = append(s.store, n.node)
		case w.draining && at.durable:
			s := w.share(n.job)
			s.release = append(s.release, n.node)
		}
	}
}

// unreported returns how many partitions workers have run and not reported yet.
func (j *job) unreported() (n uint64) {
	if !j.large {
		return 0
	}
	for a := range j.assignments.all() {
		n += min(a.ran, a.span.Len())
	}
	return n
}

// heldProgress adds statistics about a job's large partials to the job's progress.
func (l *Ledger) heldProgress(j *job, p *wire.JobProgress) {
	if !j.large {
		return
	}
	p.Unreported, p.MergedBytes = j.unreported(), j.mergedBytes
	p.MergeRate, p.MergeLeft = j.merging.perSecond, p.MergesLeft*j.largest
	for _, w := range l.workers {
		for _, n := range w.nodes {
			if n.job != j {
				continue
			}
			if at := j.forest.holdingOf(w.id, n.node); at != nil {
				p.HeldBytes += at.held.size
			}
		}
	}
	for a := range j.assignments.all() {
		if a.call == nil || a.call.function != wire.Merge || a.state != stateRunning || len(p.Merging) == wire.MaxMerging {
			continue
		}
		m := wire.Merging{Node: a.call.node, Worker: a.worker.id, For: l.now - a.progressAt}
		for _, o := range j.heldOperands(a.call) {
			m.Bytes += o.held.size
		}
		p.Merging = append(p.Merging, m)
	}
}

// worthStoring reports whether a held node should be written to storage, because its loss would cost more than
// the write. A process that dies every M on average, and whose state takes the time C to write, should write
// its state after each sqrt(2·C·M) of work (Young, A first order approximation to the optimum checkpoint
// interval, CACM 17, 1974). During recovery no node is worth storing yet, because workers that have not
// reported may hold copies of it.
func (l *Ledger) worthStoring(w *worker, j *job, at *treeNode) bool {
	perSecond := cmp.Or(w.share(j).perSecond(), j.perSecond())
	exposed := at.exposed()
	if perSecond == 0 || exposed == 0 || l.recovery.active {
		return false
	}
	work := float64(exposed) / perSecond
	cost := writeLatency + float64(at.held.size)/float64(l.cfg.StoreBytesPerSecond)
	return work >= math.Sqrt(2*cost*l.cfg.MeanTimeBetweenFailures.Seconds())
}

// writeLatency is the minimum duration in seconds of a write to storage.
const writeLatency = 0.05

// heldOperands returns the operands of a call that workers hold.
func (j *job) heldOperands(c *call) (list []*treeNode) {
	if c.function == wire.Plan || !j.large {
		return nil
	}
	operands, _ := j.operands(c)
	for _, o := range operands {
		if o.held != nil && !(c.fromStorage && o.ref != NoRef) {
			list = append(list, o)
		}
	}
	return list
}

// bestHolder returns the worker that should make a call with held operands: the holder of both operands,
// or of the larger operand. If two workers hold operands of equal size, bestHolder prefers the worker
// with more of the partials that are merged next with the result, then an idle worker, and then a
// worker other than the leader's own. bestHolder returns nil if none of the holders can make calls.
func (l *Ledger) bestHolder(j *job, c *call) *worker {
	type holder struct {
		*worker
		bytes uint64
		near  uint64 // number of partitions in the worker's partials that are merged next with the result
	}
	var holders []holder // one or two workers
	for _, o := range j.heldOperands(c) {
		w := l.worker(o.held.worker)
		switch at := slices.IndexFunc(holders, func(h holder) bool { return h.worker == w }); {
		case at >= 0:
			holders[at].bytes += o.held.size
		case w != nil && (l.takesCalls(w, j) || w.finishesEarlierCalls(j)) && w.hello.Holds && !l.mayKill(w, j, c):
			holders = append(holders, holder{w, o.held.size, j.forest.heldNear(w.id, c.node)})
		}
	}
	if len(holders) == 0 {
		return nil
	}
	indicator := func(b bool) int { return map[bool]int{true: 1}[b] }
	return slices.MinFunc(holders, func(a, b holder) int {
		return cmp.Or(
			-cmp.Compare(a.bytes, b.bytes),
			-cmp.Compare(a.near, b.near),
			cmp.Compare(indicator(a.busy()), indicator(b.busy())),
			cmp.Compare(indicator(a.id == l.cfg.Self), indicator(b.id == l.cfg.Self)),
			cmp.Compare(a.calls, b.calls),
			cmp.Compare(a.id, b.id))
	}).worker
}

// finishesEarlierCalls reports whether a worker is busy only with calls that an earlier leader assigned.
// Calls of an earlier leader end soon, so waiting is cheaper than moving the worker's partials.
func (w *worker) finishesEarlierCalls(j *job) bool {
	return w.callSlots == 0 && w.earlierCalls > 0 && !w.draining && !w.reserved && w.knows(j)
}

// busy reports whether a worker cannot begin another call at once.
func (w *worker) busy() bool { return w.calls >= w.callSlots }

// fetches reports whether a worker can get all operands of a call. A worker with an old version of
// the program cannot fetch operands from other workers.
func (w *worker) fetches(j *job, c *call) bool { return w.hello.Holds || len(j.heldOperands(c)) == 0 }

// mayKill reports whether a worker is the leader's own and the code of a call may kill its process.
// The leader's own worker still makes a call if it holds all held operands, which would otherwise
// move; the call must be durable before it begins.
func (l *Ledger) mayKill(w *worker, j *job, c *call) bool {
	switch {
	case w.id != l.cfg.Self:
		return false
	case c.deaths > 0:
		return true
	case j.writeAhead:
		return slices.ContainsFunc(j.heldOperands(c), func(o *treeNode) bool { return o.held.worker != w.id })
	}
	return j.leaderExemptUntil > 0
}

// onFetchFailed handles a failed fetch of a call's operand. A failed fetch does not count as a
// failure of the call. The operand's holder may be dead, so it is probed. A live holder is told to
// write the operand to storage.
func (l *Ledger) onFetchFailed(j *job, c *call, w *worker, f *wire.Failure) {
	c.due = l.now + fetchBackoff
	j.wantStored(c, func(holder string) bool { return holder == f.Holder })
	l.log(j.spec.ID, w.id, "%v waits, an operand could not be fetched from worker %s: %s", c, f.Holder, f.Error)
	if holder := l.worker(f.Holder); holder != nil {
		l.probe(holder)
	}
}

// wantStored makes holders write the operands of a call to storage, where the call's worker can
// read them.
func (j *job) wantStored(c *call, of func(holder string) bool) {
	c.fromStorage = true
	for _, o := range j.heldOperands(c) {
		if of(o.held.worker) {
			o.held.storeWanted = true
		}
	}
}

// These are the assumed speeds at which a worker of a busy cluster fetches a partial from another worker: over a network,
// and on the same machine.
const (
	fetchBytesPerSecond     = 200_000_000
	fetchNearBytesPerSecond = 500_000_000
)

// leastWork returns the smallest amount of work for which another slot is worthwhile. A smaller
// amount of work takes less time than the messages for its assignment, or costs about as much
// processor time as the fetches that follow: those of its partial, and of the partials of nodes that
// it splits.
func (l *Ledger) leastWork(j *job) time.Duration {
	speed := float64(fetchBytesPerSecond)
	if _, unknown := l.hosts[""]; len(l.hosts) == 1 && !unknown {
		speed = fetchNearBytesPerSecond
	}
	return max(l.minWork(), duration(3*float64(j.largest)/speed))
}

// leavesForLater reports whether a worker with busy slots should leave the queued partitions of a job
// with large partials in the queue, because its assignments will keep it busy for longer than the
// queue will last. The first idle worker then takes the partitions, and fewer partials are moved at the
// end of the job.
func (l *Ledger) leavesForLater(w *worker, j *job) bool {
	if !j.large || l.dueRetry(w, j) != nil || l.hasSuspect(w, j) {
		return false
	}
	_, ahead := l.ahead(w, j.spec.Priority)
	return ahead >= l.fairShare(w, j.spec.Priority)*time.Duration(w.slots)
}

// gapFor returns the queued span in which a worker's next assignment begins. It is used for jobs
// with large partials, and moves as few of the partials as possible between workers. A worker
// continues at the end of its last assignment, so that it holds siblings. A worker that cannot
// continue begins in the middle of the largest queued span, which leaves the most room to continue.
// The parameter queued contains the queued spans, and size is the number of partitions in the
// assignment.
func (l *Ledger) gapFor(w *worker, j *job, queued []engine.Span, size uint64) (gap engine.Span) {
	if j.spec.Estimates {
		return queued[0] // the low end comes first, because the rungs are judged in order
	}
	next := w.share(j).next
	for _, q := range queued {
		if next > 0 && q.Lo <= next && next < q.Hi {
			return engine.Span{Lo: next, Hi: q.Hi}
		}
		if q.Len() > gap.Len() {
			gap = q
		}
	}
	if gap.Len() > size && l.continues(w, j, gap.Lo) {
		gap.Lo = mostAligned(gap.Lo+gap.Len()/4, gap.Hi-gap.Len()/4)
	}
	return gap
}

// firstSubtree returns the first partitions of a queued span of a job with large partials as an assignment, which is a
// whole node of the tree.
func (j *job) firstSubtree(gap engine.Span, size uint64) engine.Span {
	piece := engine.Span{Lo: gap.Lo, Hi: gap.Lo + 1}
	for level := uint8(1); level < 62; level++ {
		step := uint64(1) << level
		if step > size || piece.Lo%step != 0 || piece.Lo+step > gap.Hi && gap.Hi < j.tree.Partitions() {
			break
		}
		piece.Hi = min(piece.Lo+step, gap.Hi)
	}
	return piece
}

// continues reports whether another worker will continue at a partition, because its last
// assignment ended there.
func (l *Ledger) continues(w *worker, j *job, at uint64) bool {
	return at > 0 && slices.ContainsFunc(l.workers, func(o *worker) bool {
		i, found := o.findShare(j.spec.ID)
		return o != w && found && o.shares[i].job == j && o.shares[i].next == at
	})
}

// mostAligned returns the number in [lo, hi) that is divisible by the highest power of two.
func mostAligned(lo, hi uint64) uint64 {
	for level := 62; level > 0; level-- {
		step := uint64(1) << level
		if n := (lo + step - 1) &^ (step - 1); n >= lo && n < hi {
			return n
		}
	}
	return lo
}

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

// job is the state of an active job. Each of the job's partitions is finished, assigned or queued.
type job struct {
	spec    store.Spec
	opening wire.Opening
	tree    engine.Tree // aggregation tree of the job; zero until the job is planned
	state   jobState
	round   Round // zero for a job without rounds

	spread, nextSpread stateSpread // of the round's state, and of the state of the next round

	forest      *forest                  // finished nodes of the job
	assignments assignmentList           // spans of the job that workers hold
	stealable   stealable                // assignments that idle workers may take over
	queue       queue                    // partitions that are neither finished nor assigned
	alone       map[uint64]time.Duration // time for which unfinished quarantined partitions have run on workers that died, by partition
	skipped     sortedList[skippedPartition]
	reasons     skipReasons
	calls       callList // unfinished calls of the job's Plan, Merge, Finish and Estimate
	prefixes    prefixes
	began       time.Duration // time at which the job would have begun if this leader had done all work on it; negative if the job is older than the term
	merges      mergePlace
	mergedBytes uint64
	large       bool   // a worker has held a partial of the job
	expectLarge bool   // the job's partials are probably large: see JobAdded.ExpectLarge
	largest     uint64 // size in bytes of the job's largest held partial
	stored      []storedNode
	whole       wholeNodes
	skipsIn     uint64 // number of the first checkpoint that contains all skipped partitions of the job

	contributors map[string]*contributor // workers that hold or held partitions of the job, by worker ID
	executed     uint64                  // number of reported executions of finished partitions, including repeated executions
	uncounted    bool                    // executions of finished partitions may be missing from executed: see onOutput
	cost         store.Cost
	builds       builds
	reused       *store.Reused // nil unless the job looked for kept partials when it was planned
	lastError    string
	retried      retriedPartitions
	durations    engine.Durations
	errors       errorTexts

	rate       rate // partitions per second that one slot finishes, averaged over all workers; measured by this leader
	resumed    rate // the rate that earlier leaders measured
	display    rateDisplay
	merging    rateDisplay // bytes per second of merged partials, for display
	checkpoint checkpointState

	// writeAhead is true if the job may have killed a leader. If writeAhead is set, an assignment
	// to the leader's own worker is sent only after a durable checkpoint contains the assignment.
	writeAhead        bool
	trial             trial
	leaderExemptUntil time.Duration // time until which the leader's own worker gets no quarantined work: see quarantinedFor
}

// mergePlace determines whether the leader or workers do the merges of a job. The leader merges,
// unless a merge might block or kill the leader.
type mergePlace struct {
	assigned bool          // workers merge, because the leader cannot, or because a merge was slow or killed a process
	until    time.Duration // time until which workers do the merges
}

// planned reports whether the job's plan is known.
func (j *job) planned() bool { return j.tree.Partitions() > 0 }

// setPlan sets the job's plan. The parameter tree is the tree of the plan, or zero without a plan.
func (j *job) setPlan(p Plan, tree engine.Tree) {
	j.tree, j.forest = tree, newForest(tree)
	j.opening.Partitions, j.opening.Data, j.opening.InStore = p.Partitions, p.Data, p.InStore
}

// jobState is the state of a job. A job's states change only in the order of the constants.
type jobState int

const (
	// jobActive is a job whose calls and partitions are assigned to workers.
	jobActive jobState = iota
	// jobEnding is a job whose end is being made durable. The ledger accepts no items of an ending
	// job and assigns none of its partitions. The workers of an ending job do not know of the end
	// yet, and continue.
	jobEnding
	// jobEnded is a job whose end is durable. An ended job is no longer in the ledger, but a
	// worker's jobShare remains until the worker was told of the end.
	jobEnded
)

// ending reports whether the job's end has been decided.
func (j *job) ending() bool { return j.state >= jobEnding }

// contributor records how many of a worker's items for a job were received and how many are
// durable.
type contributor struct {
	received      uint64 // number of the last received item
	checkpointing uint64 // number of the last item that the checkpoint in flight contains
	durable       uint64 // number of the last item that a durable checkpoint contains
}

// contributor returns the entry of a worker, and adds the entry if there is none.
func (j *job) contributor(worker string) *contributor {
	c := j.contributors[worker]
	if c == nil {
		c = &contributor{}
		j.contributors[worker] = c
	}
	return c
}

// perSecond estimates how many partitions per second one slot finishes, or returns 0 if the rate is unknown.
// Before this leader's first measurement, perSecond returns the rate that earlier leaders measured: after a
// takeover in the merge phase, this leader measures nothing.
func (j *job) perSecond() float64 { return cmp.Or(j.rate.perSecond(), j.resumed.perSecond()) }

// partitionTime returns the mean time for which a partition occupies a slot, or 0 if it is unknown.
func (j *job) partitionTime() time.Duration {
	if perSecond := j.perSecond(); perSecond > 0 {
		return max(1, duration(1/perSecond))
	}
	return 0
}

// compareJobs orders higher priorities first, then jobs that were submitted earlier.
func compareJobs(a, b *job) int {
	return cmp.Or(cmp.Compare(b.spec.Priority, a.spec.Priority), cmp.Compare(a.spec.ID, b.spec.ID))
}

// removeJob removes a job whose end is durable. It nudges the workers that hold the job's
// partitions, so that they stop at once.
func (l *Ledger) removeJob(j *job) {
	j.state = jobEnded
	for _, a := range slices.Collect(j.assignments.backward()) {
		l.release(a)
		l.nudge(a.worker)
	}
	for _, n := range j.forest.finishedNodes() {
		l.dropPartials(n.Ref)
	}
	i, _ := slices.BinarySearchFunc(l.jobs, j, compareJobs)
	l.jobs = slices.Delete(l.jobs, i, i+1)
	delete(l.jobsByID, j.spec.ID)
}

// finish records a finished node. If executed is true, a worker ran all partitions of the node, so
// none of them is skipped. A node that was merged from finished nodes may lack skipped partitions.
func (l *Ledger) finish(j *job, finished FinishedNode, executed bool) {
	l.endTrial(j)
	n := finished.Node
	if !j.isNeeded(n) {
		l.dropPartials(finished.Ref)
		return
	}
	if drop, kept := j.forest.keep(finished); kept {
		l.dropPartials(drop...)
		j.checkpoint.dirty = true
		j.addStored(n)
		l.keepWhole(j)
		return
	}
	drop, added := j.forest.insert(finished)
	l.dropPartials(drop...)
	j.addStored(n)
	if !added {
		return
	}
	j.checkpoint.dirty = true
	if executed {
		j.unskip(j.tree.Span(n))
	}
	l.finished(j, n)
}

// finished handles a node that has become a maximal finished node of the forest.
func (l *Ledger) finished(j *job, n engine.Node) {
	span := j.tree.Span(n)
	j.mergesDone(span)
	j.queue.remove(span)
	j.queue.failed.remove(span)
	for partition := range j.alone {
		if span.Lo <= partition && partition < span.Hi {
			delete(j.alone, partition)
		}
	}
	l.mergeUp(j, n)
	if j.forest.treeNodes > l.cfg.MaxTreeNodes {
		l.fail(j, fmt.Sprintf("its finished nodes are scattered over more than %d nodes of the tree", l.cfg.MaxTreeNodes))
	}
}

// mergeUp requests the merge of a finished node with its sibling, if the sibling is finished too.
// If one of the two siblings has only skipped partitions, the parent gets the other sibling's
// partial without a merge, and mergeUp continues with the parent. Merges with skipped partitions may have to wait for the
// job's whole nodes: see wholeNodes. If there is nothing to merge, mergeUp
// requests the call that follows from the finished nodes.
func (l *Ledger) mergeUp(j *job, n engine.Node) {
	for !j.ending() {
		if n = j.tree.Lift(n); n != j.tree.Root() && (j.separates(n.Parent()) || j.awaitsWhole(n.Parent())) {
			break
		}
		parent, left, right, ok := j.forest.siblings(n)
		if !ok {
			break
		}
		switch {
		case left.empty() || right.empty():
			with := left
			if left.empty() {
				with = right
			}
			j.forest.replace(parent, with)
			j.addStored(parent)
			n = parent
			continue
		case l.mergedByWorkers(j, left, right) || j.merges.assigned || l.now < j.merges.until || !j.admits(l.cfg.Build):
			l.addCall(j, wire.Merge, parent)
		default:
			l.do(Merge{j.spec.ID, parent, left.ref, right.ref})
		}
		return
	}
	l.judgeNext(j)
}

func (l *Ledger) cancel(j *job) { l.end(j, store.Cancelled, "", NoRef) }

func (l *Ledger) fail(j *job, reason string) { l.end(j, store.Failed, reason, NoRef) }

// end requests a job's end. The first requested outcome of a job is final; later outcomes are
// ignored.
func (l *Ledger) end(j *job, outcome store.State, reason string, result Ref) {
	if j.ending() {
		return
	}
	j.state = jobEnding
	l.loseUnreported(j)
	l.do(EndJob{j.spec.ID, outcome, reason, result, l.snapshot(j)})
	l.dropWork(j)
}

// dropWork drops the work of a job or of a round that is ending.
func (l *Ledger) dropWork(j *job) {
	j.queue = queue{}
	for c := range j.calls.all() {
		j.callDone(c)
	}
}

package ledger

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// This file keeps the nodes from which another job can complete a job that skips partitions: its maximal finished nodes
// without a skipped partition, which are called whole.
//
//	all partitions are finished or skipped ─▶ whole nodes are merged as far as possible ─▶ workers store those they hold
//	    ─▶ a checkpoint keeps them ─▶ the merges with skipped partitions, which give the result

// wholeNodes is the state of a job's whole nodes.
type wholeNodes struct {
	over     bool          // a durable checkpoint keeps the whole nodes, or they are too large
	keptIn   uint64        // number of the checkpoint in flight that keeps them; 0 if no such checkpoint is in flight
	storedBy time.Duration // time by which workers must have stored them; 0 if no worker has to
}

const (
	// maxWholeSkips is the largest number of skipped partitions with which a job keeps its whole nodes. A skipped partition
	// adds about log2(N/skipped) whole nodes, which are in each checkpoint until the end of the job.
	maxWholeSkips = 1000
	// maxWholeBytes is the largest size of the whole nodes that workers write to storage only to keep them.
	maxWholeBytes = 1 << 30
	// storeWholeWithin is how long the result waits for these writes. Storage may be full, or too small.
	storeWholeWithin = time.Minute
)

// lacks reports whether a partition of a span was skipped.
func (j *job) lacks(span engine.Span) bool {
	for p := range j.skipped.from(skippedPartition(span.Lo)) {
		return uint64(*p) < span.Hi
	}
	return false
}

// keepsWhole reports whether the job has to keep its whole nodes, and has not yet kept them. Rungs of estimates need merges
// with skipped partitions before the end of the job, and the state of a round depends on what the rounds before it have skipped.
func (j *job) keepsWhole() bool {
	return !j.whole.over && j.skipped.len > 0 && !j.spec.Estimates && !j.round.Rounds
}

// wholeBytes returns an upper limit of the size of the whole nodes that workers hold, given the largest one so far. It is
// 0 if the job does not keep them.
func (j *job) wholeBytes() uint64 {
	if !j.keepsWhole() {
		return 0
	}
	skipped := uint64(j.skipped.len)
	return j.largest * skipped * uint64(bits.Len64(j.tree.Partitions()/skipped))
}

// awaitsWhole reports whether the children of a node must not be merged before the job's whole nodes are kept.
func (j *job) awaitsWhole(parent engine.Node) bool {
	return j.keepsWhole() && j.lacks(j.tree.Span(parent))
}

// wholeReady reports whether a checkpoint can keep the job's whole nodes now. The result unstored contains the whole nodes for
// which only their storage is missing.
func (j *job) wholeReady() (ready bool, unstored []*treeNode) {
	if !j.keepsWhole() || j.forest.done() < j.tree.Partitions() {
		return false, nil
	}
	merged := true
	var walk func(n engine.Node, p *treeNode)
	walk = func(n engine.Node, p *treeNode) {
		switch {
		case p == nil:
		case p.fragile():
			unstored = append(unstored, p)
		case !p.finished:
			if _, _, both := p.finishedChildren(); both && !j.lacks(j.tree.Span(n)) {
				merged = false
			}
			walk(n.Left(), p.child[0])
			walk(n.Right(), p.child[1])
		}
	}
	walk(j.tree.Root(), j.forest.root)
	if !merged {
		return false, nil
	}
	return len(unstored) == 0, unstored
}

// keepWhole requests the checkpoint that keeps the whole nodes of a job, if nothing else is left to do before it.
func (l *Ledger) keepWhole(j *job) {
	if j.ending() {
		return
	}
	if bytes := j.wholeBytes(); bytes > maxWholeBytes {
		l.loseWhole(j, fmt.Sprintf("that would need partial results of up to %d MB beside its result", bytes>>20))
		return
	}
	ready, unstored := j.wholeReady()
	var bytes uint64
	for _, at := range unstored {
		bytes += at.held.size
	}
	switch {
	case bytes > maxWholeBytes:
		l.loseWhole(j, fmt.Sprintf("that would need partial results of %d MB beside its result", bytes>>20))
		return
	case len(unstored) == 0:
		j.whole.storedBy = 0 // partitions of a lost worker run again, or nothing is left to store
	case j.whole.storedBy == 0:
		j.whole.storedBy = l.now + storeWholeWithin
	case l.now >= j.whole.storedBy:
		l.loseWhole(j, fmt.Sprintf("workers could not write its partial results to storage within %v", storeWholeWithin))
		return
	}
	for _, at := range unstored {
		if at.held.storeWanted {
			continue
		}
		at.held.storeWanted = true
		if w := l.worker(at.held.worker); w != nil {
			l.nudge(w)
		}
	}
	if ready && j.whole.keptIn == 0 {
		j.checkpoint.request()
	}
}

// loseWhole gives up the whole nodes of a job for a reason, so that its result does not wait for them.
func (l *Ledger) loseWhole(j *job, reason string) {
	l.log(j.spec.ID, "", "A retry of the skipped partitions alone will not be possible: %s", reason)
	j.whole.over = true
	l.mergeAll(j)
}

// wholeKept handles a durable checkpoint, which may be the one that keeps the whole nodes.
func (l *Ledger) wholeKept(j *job) {
	if j.whole.keptIn == 0 {
		return
	}
	j.whole = wholeNodes{over: true}
	l.mergeAll(j)
}

// mergeAll requests the merges of all finished nodes, after merges have waited.
func (l *Ledger) mergeAll(j *job) {
	var list []engine.Node
	j.forest.eachMaximal(j.tree.Span(j.tree.Root()), func(*treeNode) bool { return false }, func(n engine.Node, _ *treeNode) { list = append(list, n) })
	for _, n := range list {
		l.mergeUp(j, n)
	}
}

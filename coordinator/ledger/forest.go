package ledger

import (
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// forest contains a job's maximal finished nodes, that is, the finished nodes without a finished
// ancestor. The forest is stored as the part of the aggregation tree that consists of finished
// nodes and their ancestors. The size of the forest grows with the number of finished nodes, and
// each operation walks one path from the root.
//
// A node whose partial is only on one worker is lost when that worker dies. The forest therefore
// also keeps finished nodes below such a node, unless the same worker holds them, to replace the
// node if it is lost. Nodes below a held node whose partial the caller has too are kept until the
// held node is durable.
type forest struct {
	tree      engine.Tree
	root      *treeNode
	treeNodes int         // number of tree nodes below the root
	partials  int         // number of maximal finished nodes with a partial
	held      bool        // true if a worker has ever held a partial of the job
	lastPath  []*treeNode // buffer that the next call of path reuses
}

// treeNode is a finished node, or an ancestor of a finished node.
type treeNode struct {
	child    [2]*treeNode
	done     uint64 // number of finished partitions at or below the node
	finished bool
	merging  bool // the merge of the node's two children was requested
	large    bool // true if FinishedNode.Large was true or a worker holds the partial
	ref      Ref
	size     int      // FinishedNode.Size
	durable  bool     // the partial of ref is in a durable checkpoint
	held     *holding // the worker that holds the partial; nil if there is none
}

// holding is a large partial that a worker holds. If all partitions of the node's sibling were
// skipped, the parent has the same partial as the node, and holding.node is still the node that the
// holder reported.
type holding struct {
	worker string
	node   engine.Node
	size   uint64
	sum    uint32

	storeWanted bool // the holder is told to store the partial, because another worker could not fetch it
}

// empty reports whether all partitions of a finished node were skipped.
func (p *treeNode) empty() bool { return p.finished && p.ref == NoRef && p.held == nil }

// fragile reports whether a finished node is lost if its holder dies.
func (p *treeNode) fragile() bool { return p.finished && p.ref == NoRef && p.held != nil }

func newForest(tree engine.Tree) *forest { return &forest{tree: tree, root: &treeNode{}} }

// done returns the number of a job's finished partitions.
func (f *forest) done() uint64 { return f.root.done }

// path returns the tree nodes on the path from the root to n, up to the first finished node or the
// last existing node. The returned path is valid until the next call of path or walk.
func (f *forest) path(n engine.Node) []*treeNode {
	return f.walk(n, func(at *treeNode) bool { return !at.finished })
}

// walk returns the tree nodes on the path from the root to n, until the function more returns false
// or the next node does not exist. The returned path is valid until the next call of path or walk.
func (f *forest) walk(n engine.Node, more func(*treeNode) bool) []*treeNode {
	path := f.lastPath[:0]
	at := f.root
	for level := f.tree.Root().Level; at != nil; level-- {
		path = append(path, at)
		if level == n.Level || !more(at) {
			break
		}
		at = at.child[n.Index>>(level-1-n.Level)&1]
	}
	f.lastPath = path
	return path
}

// grow extends a path to n by creating the missing tree nodes.
func (f *forest) grow(path []*treeNode, n engine.Node) []*treeNode {
	rootLevel := int(f.tree.Root().Level)
	for depth := len(path); depth <= rootLevel-int(n.Level); depth++ {
		next := &treeNode{}
		path[depth-1].child[n.Index>>(rootLevel-depth-int(n.Level))&1] = next
		f.treeNodes++
		path = append(path, next)
	}
	return path
}

// insert adds a finished node and returns the refs that the caller must drop: the new node's ref if
// the forest does not need it, or the refs of the finished nodes that the new node covers. It keeps
// nodes below a node whose partial is only on one worker, because the worker may lose the partial.
// The result added is false if the forest already covers the new node.
func (f *forest) insert(finished FinishedNode) (drop []Ref, added bool) {
	n := f.tree.Lift(finished.Node)
	path := f.walk(n, func(at *treeNode) bool { return !at.finished || at.fragile() })
	if last := path[len(path)-1]; last.finished && !last.fragile() {
		return []Ref{finished.Ref}, false
	}
	path = f.grow(path, n)
	at := path[len(path)-1]
	covered := slices.ContainsFunc(path[:len(path)-1], func(p *treeNode) bool { return p.finished })
	if !covered {
		f.partials -= countMaximal(at)
	}
	drop = f.strip(at, nil)
	if covered {
		f.partials-- // setFinished has counted the node, but a finished ancestor covers it
	}
	f.setFinished(at, treeNode{ref: finished.Ref, size: finished.Size, large: finished.Large})
	f.setDone(path, f.tree.Span(n).Len())
	return drop, !covered
}

// keep records that the caller also has the partial of a held node. It returns false if no worker
// holds the node, or if the caller already has the partial of the node or of an ancestor.
func (f *forest) keep(finished FinishedNode) (drop []Ref, kept bool) {
	if !f.held { // most jobs have no held partials, and keep is called for every finished node
		return nil, false
	}
	for _, at := range f.walk(f.tree.Lift(finished.Node), func(at *treeNode) bool { return !at.finished || at.fragile() }) {
		if at.fragile() && at.held.node == finished.Node {
			at.ref, at.size = finished.Ref, finished.Size
			return f.strip(at, nil), true
		}
	}
	return nil, false
}

// strip removes the caller's partials below p, and appends their refs to refs, in order. It keeps
// the partials that workers hold.
func (f *forest) strip(p *treeNode, refs []Ref) []Ref {
	for i, child := range p.child {
		if child == nil {
			continue
		}
		if child.ref != NoRef {
			refs = append(refs, child.ref)
		}
		child.ref, child.size, child.merging, child.durable = NoRef, 0, false, false
		child.finished = child.held != nil
		refs = f.strip(child, refs)
		f.prune(p, i)
	}
	return refs
}

// prune removes the i-th child of p if the child's subtree contains no finished node. If the child
// stays, prune updates the child's number of finished partitions.
func (f *forest) prune(p *treeNode, i int) {
	switch child := p.child[i]; {
	case child.finished:
	case child.child == [2]*treeNode{}:
		p.child[i] = nil
		f.treeNodes--
	default:
		child.done = child.below()
	}
}

// below returns the number of finished partitions in the children of a tree node.
func (p *treeNode) below() (n uint64) {
	for _, child := range p.child {
		if child != nil {
			n += child.done
		}
	}
	return n
}

// clear removes all tree nodes below p. The caller must not have partials of the removed nodes.
func (f *forest) clear(p *treeNode) {
	for i, child := range p.child {
		if child != nil {
			f.clear(child)
			p.child[i] = nil
			f.treeNodes--
		}
	}
}

// setDone sets the number of finished partitions of the last tree node of a path, and corrects the
// numbers of its ancestors up to the first finished ancestor.
func (f *forest) setDone(path []*treeNode, done uint64) {
	at := path[len(path)-1]
	gained := done - at.done // the unsigned difference may wrap around
	at.done = done
	for i := len(path) - 2; i >= 0 && !path[i].finished; i-- {
		path[i].done += gained
	}
}

// countMaximal returns the number of maximal finished nodes with a partial at or below p.
func countMaximal(p *treeNode) (n int) {
	switch {
	case p == nil || p.empty():
		return 0
	case p.finished:
		return 1
	}
	return countMaximal(p.child[0]) + countMaximal(p.child[1])
}

// hold records that a worker holds the partial of a node. The result needed is true if the forest
// needs the held partial. The result added is true if the node's partitions were not finished
// before.
func (f *forest) hold(h holding) (needed, added bool) {
	f.held = true
	n := f.tree.Lift(h.node)
	mayAdd, covered := true, false
	path := f.walk(n, func(*treeNode) bool { return true })
	depth := int(f.tree.Root().Level - n.Level)
	for i, at := range path {
		switch {
		case !at.finished:
		case at.held != nil && at.held.worker == h.worker && at.held.node == h.node:
			at.held.size, at.held.sum = h.size, h.sum
			return true, false
		case i == depth && at.held == nil && at.ref != NoRef && !covered: // the partial in the holder's memory saves a read from storage
			at.held = &h
			f.stripHolder(at, &h)
			return true, false
		case i == depth:
			return false, false
		case at.held != nil && at.held.worker == h.worker:
			return false, false // the partial would be lost together with the ancestor's, so it is not needed
		case at.durable || at.empty():
			mayAdd = false
		default:
			covered = true
		}
	}
	if !mayAdd {
		return false, false
	}
	path = f.grow(path, n)
	at := path[len(path)-1]
	if !covered {
		f.partials -= countMaximal(at)
	}
	f.stripHolder(at, &h)
	next := treeNode{large: true, held: &h}
	if covered {
		f.partials-- // setFinished has counted the node, but the node is not maximal
	}
	f.setFinished(at, next)
	f.setDone(path, f.tree.Span(n).Len())
	return true, !covered
}

// stripHolder removes the tree nodes below p that would be useless if the given node were lost: nodes
// on the same worker.
func (f *forest) stripHolder(p *treeNode, node *holding) {
	for i, child := range p.child {
		if child == nil {
			continue
		}
		child.merging = false // the merge of the children is no longer needed
		if child.held != nil && child.held.worker == node.worker {
			child.held = nil
			child.finished = child.ref != NoRef
		}
		f.stripHolder(child, node)
		f.prune(p, i)
	}
}

// lose records that a worker no longer holds a node. It returns the span whose partitions may be
// missing now, which is empty if the partial is not lost.
func (f *forest) lose(worker string, node engine.Node) (lost engine.Span) {
	n := f.tree.Lift(node)
	path := f.walk(n, func(*treeNode) bool { return true })
	covered := false
	for i, at := range path {
		if at.held == nil || at.held.worker != worker || at.held.node != node {
			covered = covered || at.finished
			continue
		}
		at.held = nil
		if at.ref != NoRef {
			covered = true
			continue
		}
		at.finished, at.merging = false, false
		if i > 0 {
			path[i-1].merging = false
		}
		if !covered {
			f.partials += countMaximal(at) - 1
		}
		f.setDone(path[:i+1], at.below())
		if lost.Empty() && !covered {
			lost = f.tree.Span(engine.Node{Level: f.tree.Root().Level - uint8(i), Index: n.Index >> (int(f.tree.Root().Level-n.Level) - i)})
		}
	}
	for i := len(path) - 1; i > 0; i-- { // start at the lowest node, so that ancestors without children are removed too
		for k, child := range path[i-1].child {
			if child == path[i] {
				f.prune(path[i-1], k)
			}
		}
	}
	return lost
}

// covers reports whether a node or an ancestor of the node is finished.
func (f *forest) covers(n engine.Node) bool {
	path := f.path(f.tree.Lift(n))
	return path[len(path)-1].finished
}

// markDurable marks a node as durable if the caller has its partial, and removes the tree nodes below
// the node.
func (f *forest) markDurable(n engine.Node) {
	lifted := f.tree.Lift(n)
	for i, at := range f.walk(lifted, func(*treeNode) bool { return true }) {
		exact := i == int(f.tree.Root().Level-lifted.Level)
		if at.ref != NoRef && (exact || at.held != nil && at.held.node == n) {
			at.durable = true
			f.clear(at)
			return
		}
	}
}

// holdingOf returns the tree node of a partial that a given worker holds.
func (f *forest) holdingOf(worker string, node engine.Node) *treeNode {
	for _, at := range f.walk(f.tree.Lift(node), func(*treeNode) bool { return true }) {
		if at.held != nil && at.held.worker == worker && at.held.node == node {
			return at
		}
	}
	return nil
}

// heldNear returns how many partitions near a node are in partials of a worker: in the partials of
// the node's sibling and of the sibling's near descendants.
func (f *forest) heldNear(worker string, n engine.Node) uint64 {
	if n = f.tree.Lift(n); n == f.tree.Root() {
		return 0
	}
	sibling := f.tree.Lift(n.Sibling())
	path := f.walk(sibling, func(*treeNode) bool { return true })
	if len(path) <= int(f.tree.Root().Level-sibling.Level) {
		return 0
	}
	return path[len(path)-1].heldBy(worker, 4)
}

// heldBy returns the number of partitions in the partials that a worker holds in the subtree of p, down to the
// given number of levels.
func (p *treeNode) heldBy(worker string, levels int) (n uint64) {
	if p.held != nil && p.held.worker == worker {
		return p.done
	}
	for _, child := range p.child {
		if child != nil && levels > 0 {
			n += child.heldBy(worker, levels-1)
		}
	}
	return n
}

// exposed returns how many partitions of a node would run again if the node's holder died.
func (p *treeNode) exposed() uint64 {
	if !p.fragile() {
		return 0
	}
	return p.done - p.safe(p.held.worker)
}

// safe returns how many partitions at or below p would remain finished if a worker died.
func (p *treeNode) safe(worker string) (n uint64) {
	if p.finished && (!p.fragile() || p.held.worker != worker) {
		return p.done
	}
	for _, child := range p.child {
		if child != nil {
			n += child.safe(worker)
		}
	}
	return n
}

// siblings returns the merge that a newly finished node makes possible: the node's parent, and the
// parent's children. It returns each possible merge only once.
func (f *forest) siblings(n engine.Node) (parent engine.Node, left, right *treeNode, ok bool) {
	n = f.tree.Lift(n)
	if n == f.tree.Root() {
		return engine.Node{}, nil, nil, false
	}
	path := f.path(n.Parent())
	up := path[len(path)-1]
	left, right, ok = up.finishedChildren()
	if !ok || up.merging || up.finished {
		return engine.Node{}, nil, nil, false
	}
	up.merging = true
	return f.tree.Lift(n.Parent()), left, right, true
}

// finishedChildren returns the node's children if both are finished.
func (p *treeNode) finishedChildren() (left, right *treeNode, ok bool) {
	left, right = p.child[0], p.child[1]
	return left, right, left != nil && right != nil && left.finished && right.finished
}

// operands returns the finished children of a node whose merge was requested. It returns false if
// the merge is no longer needed or a child was lost.
func (f *forest) operands(n engine.Node) (left, right *treeNode, ok bool) {
	path := f.path(n)
	at := path[len(path)-1]
	if at.finished || len(path) <= int(f.tree.Root().Level-n.Level) {
		return nil, nil, false
	}
	for ; n.Level > 0 && n.Right().Index<<(n.Level-1) >= f.tree.Partitions(); n = n.Left() { // a node without a right child is the same as its left child
		if at = at.child[0]; at == nil {
			return nil, nil, false
		}
	}
	return at.finishedChildren()
}

// replace marks a node as finished without a merge: one of its finished children has no partial, so
// the other child's partial becomes the node's partial. If a worker holds the other child's
// partial, both children are kept below the node.
func (f *forest) replace(n engine.Node, with *treeNode) {
	path := f.path(n)
	at := path[len(path)-1]
	as := treeNode{ref: with.ref, size: with.size, large: with.large, durable: with.durable, held: with.held}
	f.partials -= countMaximal(at)
	switch {
	case with.fragile():
	case with.child == [2]*treeNode{}:
		f.clear(at)
	default: // the children are kept until the node is durable
		with.ref, with.durable = NoRef, false
		if with.finished = with.held != nil; !with.finished {
			lost := with.done - with.below()
			with.done -= lost
			for p := at; p.child[0] != with && p.child[1] != with; { // nodes without a right child lie between the node and its children
				p = p.child[0]
				p.done -= lost
			}
		}
	}
	f.setFinished(at, as)
}

// setFinished marks a node as finished.
func (f *forest) setFinished(at *treeNode, as treeNode) {
	as.finished, as.child, as.done = true, at.child, at.done
	*at = as
	if !at.empty() {
		f.partials++
	}
}

// remainingMerges returns how many merges remain after all partitions are finished. Each merge replaces
// two partials with one.
func (f *forest) remainingMerges() uint64 { return uint64(max(0, f.partials-1)) }

// finishedNodes returns the maximal finished nodes whose partials the caller has or whose
// partitions were all skipped, in the order of their partitions.
func (f *forest) finishedNodes() []FinishedNode {
	list := make([]FinishedNode, 0, f.partials)
	f.eachMaximal(f.tree.Span(f.tree.Root()), (*treeNode).fragile, func(n engine.Node, p *treeNode) {
		list = append(list, FinishedNode{Node: n, Ref: p.ref, Size: p.size, Large: p.large})
	})
	return list
}

// eachMaximal calls visit with the maximal finished nodes that have partitions of a span and for which skip returns false, in
// the order of their partitions.
func (f *forest) eachMaximal(s engine.Span, skip func(*treeNode) bool, visit func(n engine.Node, p *treeNode)) {
	var walk func(n engine.Node, p *treeNode)
	walk = func(n engine.Node, p *treeNode) {
		switch within := f.tree.Span(n); {
		case p == nil || within.Hi <= s.Lo || s.Hi <= within.Lo:
		case p.finished && !skip(p):
			visit(n, p)
		case n.Level > 0:
			walk(n.Left(), p.child[0])
			walk(n.Right(), p.child[1])
		}
	}
	walk(f.tree.Root(), f.root)
}

// missing returns the unfinished parts of a span, in order.
func (f *forest) missing(s engine.Span) []engine.Span {
	var list []engine.Span
	f.eachMissing(s, func(gap engine.Span) bool {
		if last := len(list) - 1; last >= 0 && list[last].Hi == gap.Lo {
			list[last].Hi = gap.Hi
		} else {
			list = append(list, gap)
		}
		return true
	})
	return list
}

// anyMissing reports whether a span has an unfinished partition.
func (f *forest) anyMissing(s engine.Span) bool {
	return !f.eachMissing(s, func(engine.Span) bool { return false })
}

// eachMissing calls visit with the unfinished parts of a span, in order, until visit returns false.
// It may split an unfinished part into several pieces. It reports whether every call of visit
// returned true.
func (f *forest) eachMissing(s engine.Span, visit func(engine.Span) bool) bool {
	return f.walkMissing(f.tree.Root(), f.root, s, visit)
}

func (f *forest) walkMissing(n engine.Node, p *treeNode, s engine.Span, visit func(engine.Span) bool) bool {
	covered := f.tree.Span(n)
	part := engine.Span{Lo: max(covered.Lo, s.Lo), Hi: min(covered.Hi, s.Hi)}
	switch {
	case part.Empty() || p != nil && p.finished:
		return true
	case p == nil || p.done == 0:
		return visit(part)
	}
	return f.walkMissing(n.Left(), p.child[0], s, visit) && f.walkMissing(n.Right(), p.child[1], s, visit)
}

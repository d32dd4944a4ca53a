package ledger

import (
	"github.com/bellwether-compute/bellwether/jobs"
)

// forest has a job's maximal finished nodes. It is the part of the aggregation tree that
// lies at and above finished nodes. Its size grows with the number of finished nodes, and
// each operation walks one path from the root.
type forest struct {
	tree      jobs.Tree
	root      *treeNode
	treeNodes int // number of tree nodes below the root
	partials  int // number of finished nodes that have a partial
}

// treeNode is a finished node, which has no children in the forest, or an ancestor of a
// finished node.
type treeNode struct {
	child    [2]*treeNode
	done     uint64 // finished partitions at or below the node
	finished bool
	merging  bool // the merge of the node's two children was requested
	ref      Ref
	size     int // FinishedNode.Size
}

func newForest(tree jobs.Tree) *forest { return &forest{tree: tree, root: &treeNode{}} }

// done returns the number of finished partitions.
func (f *forest) done() uint64 { return f.root.done }

// path lists the tree nodes from the root towards n, as far as they exist.
func (f *forest) path(n jobs.Node) []*treeNode {
	path := make([]*treeNode, 0, 64)
	at := f.root
	for level := f.tree.Root().Level; ; level-- {
		path = append(path, at)
		if level == n.Level || at.finished {
			return path
		}
		if at = at.child[n.Index>>(level-1-n.Level)&1]; at == nil {
			return path
		}
	}
}

// insert adds a finished node and returns the refs to drop: the node's own ref if a
// finished node already covers it, or the refs of the finished nodes that it covers.
func (f *forest) insert(finished FinishedNode) (drop []Ref, added bool) {
	n := f.tree.Lift(finished.Node)
	path := f.path(n)
	last := path[len(path)-1]
	if last.finished {
		return []Ref{finished.Ref}, false
	}
	rootLevel := int(f.tree.Root().Level)
	for depth := len(path); depth <= rootLevel-int(n.Level); depth++ {
		next := &treeNode{}
		path[depth-1].child[n.Index>>(rootLevel-depth-int(n.Level))&1] = next
		f.treeNodes++
		path = append(path, next)
	}
	at := path[len(path)-1]
	gained := f.tree.Span(n).Len() - at.done
	drop = f.clear(at, nil)
	f.setFinished(at, finished.Ref, finished.Size)
	for _, p := range path {
		p.done += gained
	}
	return drop, true
}

// clear removes all tree nodes below p and appends the refs of the finished nodes among
// them to refs, in order.
func (f *forest) clear(p *treeNode, refs []Ref) []Ref {
	for i, child := range p.child {
		if child == nil {
			continue
		}
		if child.finished {
			refs = append(refs, child.ref)
			if child.ref != NoRef {
				f.partials--
			}
		}
		refs = f.clear(child, refs)
		p.child[i] = nil
		f.treeNodes--
	}
	return refs
}

// siblings returns the merge that a newly finished node makes possible: its parent, and
// the parent's children. It returns each possible merge only once.
func (f *forest) siblings(n jobs.Node) (parent jobs.Node, left, right *treeNode, ok bool) {
	n = f.tree.Lift(n)
	if n == f.tree.Root() {
		return jobs.Node{}, nil, nil, false
	}
	path := f.path(n.Parent())
	up := path[len(path)-1]
	left, right, ok = up.finishedChildren()
	if !ok || up.merging {
		return jobs.Node{}, nil, nil, false
	}
	up.merging = true
	return f.tree.Lift(n.Parent()), left, right, true
}

// finishedChildren returns the node's children if both are finished.
func (p *treeNode) finishedChildren() (left, right *treeNode, ok bool) {
	left, right = p.child[0], p.child[1]
	return left, right, left != nil && right != nil && left.finished && right.finished
}

// operands returns the finished children of a node whose merge was requested. It returns
// false if the node, or an ancestor of it, has been finished since.
func (f *forest) operands(n jobs.Node) (left, right *treeNode, ok bool) {
	path := f.path(n)
	at := path[len(path)-1]
	for at.child[0] != nil && at.child[1] == nil { // n's highest name, so only its descendants can lack a right child
		at = at.child[0]
	}
	return at.finishedChildren()
}

// replace marks a node whose children are finished as finished, without a merge: the
// finished node with the partial takes the place of both.
func (f *forest) replace(n jobs.Node, with *treeNode) {
	path := f.path(n)
	at := path[len(path)-1]
	f.clear(at, nil)
	f.setFinished(at, with.ref, with.size)
}

// setFinished marks a node without children as finished.
func (f *forest) setFinished(at *treeNode, ref Ref, size int) {
	*at = treeNode{finished: true, ref: ref, size: size, done: at.done}
	if ref != NoRef {
		f.partials++
	}
}

// mergesLeft returns how many merges are left once all partitions are finished: each
// merge replaces two partials by one.
func (f *forest) mergesLeft() uint64 { return uint64(max(0, f.partials-1)) }

// finishedNodes lists the finished nodes in the order of their partitions.
func (f *forest) finishedNodes() []FinishedNode {
	var list []FinishedNode
	var walk func(n jobs.Node, p *treeNode)
	walk = func(n jobs.Node, p *treeNode) {
		switch {
		case p == nil:
		case p.finished:
			list = append(list, FinishedNode{n, p.ref, p.size})
		case n.Level > 0:
			walk(n.Left(), p.child[0])
			walk(n.Right(), p.child[1])
		}
	}
	walk(f.tree.Root(), f.root)
	return list
}

// missing lists the unfinished parts of a span, in order.
func (f *forest) missing(s jobs.Span) []jobs.Span {
	var list []jobs.Span
	f.eachMissing(s, func(gap jobs.Span) bool {
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
func (f *forest) anyMissing(s jobs.Span) bool {
	return !f.eachMissing(s, func(jobs.Span) bool { return false })
}

// eachMissing calls visit with the unfinished parts of a span, in order, until visit
// returns false. It may pass one unfinished part in several pieces. It reports whether
// every call of visit returned true.
func (f *forest) eachMissing(s jobs.Span, visit func(jobs.Span) bool) bool {
	return f.walkMissing(f.tree.Root(), f.root, s, visit)
}

func (f *forest) walkMissing(n jobs.Node, p *treeNode, s jobs.Span, visit func(jobs.Span) bool) bool {
	covered := f.tree.Span(n)
	part := jobs.Span{Lo: max(covered.Lo, s.Lo), Hi: min(covered.Hi, s.Hi)}
	switch {
	case part.Empty() || p != nil && p.finished:
		return true
	case p == nil || p.done == 0:
		return visit(part)
	}
	return f.walkMissing(n.Left(), p.child[0], s, visit) && f.walkMissing(n.Right(), p.child[1], s, visit)
}

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

// treeNode is a finished node, which has no children here, or an ancestor of a finished
// node.
type treeNode struct {
	child    [2]*treeNode
	done     uint64 // finished partitions at or below the node
	finished bool
	merging  bool // the merge of the node's two children was requested
	ref      Ref
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
func (f *forest) insert(n jobs.Node, ref Ref) (drop []Ref, added bool) {
	n = f.tree.Lift(n)
	path := f.path(n)
	last := path[len(path)-1]
	if last.finished {
		return []Ref{ref}, false
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
	f.setFinished(at, ref)
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
// the refs of the parent's children. It returns each possible merge only once.
func (f *forest) siblings(n jobs.Node) (parent jobs.Node, left, right Ref, ok bool) {
	n = f.tree.Lift(n)
	if n == f.tree.Root() {
		return jobs.Node{}, 0, 0, false
	}
	path := f.path(n.Parent())
	up := path[len(path)-1]
	l, r := up.child[0], up.child[1]
	if up.merging || l == nil || r == nil || !l.finished || !r.finished {
		return jobs.Node{}, 0, 0, false
	}
	up.merging = true
	return f.tree.Lift(n.Parent()), l.ref, r.ref, true
}

// replace marks a node whose children are finished as finished, without a merge.
func (f *forest) replace(n jobs.Node, ref Ref) {
	path := f.path(n)
	at := path[len(path)-1]
	f.clear(at, nil)
	f.setFinished(at, ref)
}

// setFinished marks a node without children as finished.
func (f *forest) setFinished(at *treeNode, ref Ref) {
	*at = treeNode{finished: true, ref: ref, done: at.done}
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
			list = append(list, FinishedNode{n, p.ref})
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

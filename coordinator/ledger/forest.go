package ledger

import (
	"github.com/bellwether-compute/bellwether/jobs"
)

// forest holds a job's finished nodes, maximal and without overlap. It is a
// partial copy of the aggregation tree that exists only above finished nodes, so
// its size follows theirs, and each operation walks one path from the root.
type forest struct {
	tree   jobs.Tree
	root   *place
	places int // how many there are below the root
}

// place is a node of the tree on the way to a finished one, or a finished one,
// which has no children.
type place struct {
	child    [2]*place
	done     uint64 // partitions finished at or below
	finished bool
	merging  bool // the merge of the two children has been asked for
	ref      Ref
}

func newForest(tree jobs.Tree) *forest { return &forest{tree: tree, root: &place{}} }

// done is the number of finished partitions.
func (f *forest) done() uint64 { return f.root.done }

// path lists the places from the root to n as far as they exist.
func (f *forest) path(n jobs.Node) []*place {
	path := make([]*place, 0, 64)
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

// insert adds a finished node. It returns the refs that are needed no more:
// that of the node itself if it is covered already, or those of the finished
// nodes that it covers.
func (f *forest) insert(n jobs.Node, ref Ref) (forget []Ref, added bool) {
	n = f.tree.Lift(n)
	path := f.path(n)
	last := path[len(path)-1]
	if last.finished {
		return []Ref{ref}, false
	}
	rootLevel := int(f.tree.Root().Level)
	for depth := len(path); depth <= rootLevel-int(n.Level); depth++ {
		next := &place{}
		path[depth-1].child[n.Index>>(rootLevel-depth-int(n.Level))&1] = next
		f.places++
		path = append(path, next)
	}
	at := path[len(path)-1]
	gained := f.tree.Span(n).Len() - at.done
	forget = f.clear(at, nil)
	*at = place{finished: true, ref: ref, done: at.done}
	for _, p := range path {
		p.done += gained
	}
	return forget, true
}

// clear removes all places below p, and appends the refs of the finished ones, in
// order.
func (f *forest) clear(p *place, refs []Ref) []Ref {
	for i, child := range p.child {
		if child == nil {
			continue
		}
		if child.finished {
			refs = append(refs, child.ref)
		}
		refs = f.clear(child, refs)
		p.child[i] = nil
		f.places--
	}
	return refs
}

// siblings returns the merge that a newly finished node makes possible, once.
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

// replace makes a node finished whose children both are, without a merge.
func (f *forest) replace(n jobs.Node, ref Ref) {
	path := f.path(n)
	at := path[len(path)-1]
	f.clear(at, nil)
	*at = place{finished: true, ref: ref, done: at.done}
}

// nodes lists the finished nodes in order of their partitions.
func (f *forest) nodes() []FinishedNode {
	var list []FinishedNode
	var walk func(n jobs.Node, p *place)
	walk = func(n jobs.Node, p *place) {
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

// missing lists the parts of the span that are not finished, in order.
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

// anyMissing reports whether some partition of the span is not finished.
func (f *forest) anyMissing(s jobs.Span) bool {
	return !f.eachMissing(s, func(jobs.Span) bool { return false })
}

// eachMissing visits the parts of the span that are not finished, in order and in
// pieces, as long as visit wants more. It reports whether visit wanted all.
func (f *forest) eachMissing(s jobs.Span, visit func(jobs.Span) bool) bool {
	return f.walkMissing(f.tree.Root(), f.root, s, visit)
}

func (f *forest) walkMissing(n jobs.Node, p *place, s jobs.Span, visit func(jobs.Span) bool) bool {
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

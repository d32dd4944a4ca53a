package ledger

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// heldCopies compares a forest with the copies that workers and the caller have.
type heldCopies struct {
	*rapid.T
	forest *forest
	job    *job
	held   map[holding]uint64 // the partials that the forest needs, each with the partitions that it lacks: see job.lacking
	refs   map[Ref]finishedPartial
	kept   spanSet // partitions whose partials the caller has received
}

// finishedPartial is a partial of which the caller has a copy.
type finishedPartial struct {
	node    engine.Node
	lacking uint64
}

// check checks the forest's counters, and that every finished partition has a copy.
func (h *heldCopies) check() {
	f := h.forest
	if n := countBelow(f.root); n != f.treeNodes {
		h.Fatalf("forest counts %d tree nodes, and has %d", f.treeNodes, n)
	}
	if n := countMaximal(f.root); n != f.partials {
		h.Fatalf("forest counts %d partials, and has %d", f.partials, n)
	}
	var walk func(n engine.Node, p *treeNode, safe bool) uint64
	walk = func(n engine.Node, p *treeNode, safe bool) uint64 {
		if p == nil {
			return 0
		}
		var below uint64
		if n.Level > 0 {
			below = walk(n.Left(), p.child[0], safe || p.ref != NoRef) + walk(n.Right(), p.child[1], safe || p.ref != NoRef)
		}
		span := f.tree.Span(n)
		switch {
		case p.finished && p.done != span.Len() || !p.finished && p.done != below:
			h.Fatalf("node %v (finished: %v) counts %d partitions, below it are %d", n, p.finished, p.done, below)
		case !p.finished && (p.held != nil || p.ref != NoRef):
			h.Fatalf("node %v has a copy, and is not finished", n)
		case !p.finished && p != f.root && p.child == [2]*treeNode{}:
			h.Fatalf("node %v is neither finished nor above a finished node", n)
		case p.empty() && h.job.firstSkipped(1) == nil:
			h.Fatalf("node %v has no partial, and no partition is skipped", n)
		}
		if p.held != nil && !safe { // below a node that cannot be lost, a held partial is no longer used
			lacking, found := h.held[holding{worker: p.held.worker, node: p.held.node}]
			if want := h.job.lacking(f.tree.Span(p.held.node)); !found || lacking != want {
				h.Fatalf("node %v is held by %s (%v) and lacks %d, want %d", n, p.held.worker, found, lacking, want)
			}
		}
		if p.ref != NoRef {
			have, found := h.refs[p.ref]
			if want := h.job.lacking(f.tree.Span(have.node)); !found || have.lacking != want {
				h.Fatalf("node %v has the ref %d (%v), which lacks %d, want %d", n, p.ref, found, have.lacking, want)
			}
		}
		return p.done
	}
	walk(f.tree.Root(), f.root, false)
	if refs := countRefs(f.root); refs != len(h.refs) {
		h.Fatalf("the forest has %d refs, of %d that were not dropped", refs, len(h.refs))
	}
	kept := h.kept
	kept.spans = slices.Clone(kept.spans)
	for _, n := range f.finishedNodes() {
		kept.remove(f.tree.Span(n.Node))
	}
	if kept.size > 0 {
		h.Fatalf("the caller was given %v, which only workers have", kept.spans)
	}
}

// countRefs returns the number of refs at or below a tree node.
func countRefs(p *treeNode) (n int) {
	if p == nil {
		return 0
	}
	if p.ref != NoRef {
		n = 1
	}
	return n + countRefs(p.child[0]) + countRefs(p.child[1])
}

// needed lists the held nodes that the forest needs, in a fixed order.
func (h *heldCopies) needed() []holding {
	var list []holding
	for c := range h.held {
		if h.forest.holdingOf(c.worker, c.node) == nil { // the worker is told to release the node
			delete(h.held, c)
			continue
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b holding) int {
		return slices.Compare([]byte(fmt.Sprint(a.worker, a.node)), []byte(fmt.Sprint(b.worker, b.node)))
	})
	return list
}

func (h *heldCopies) drop(refs []Ref) {
	for _, r := range refs {
		if _, found := h.refs[r]; !found {
			h.Fatalf("ref %d is dropped twice", r)
		}
		delete(h.refs, r)
	}
}

// TestForestHolds lets workers hold and lose nodes in any order, gives the caller copies of some nodes, and skips
// partitions. A node that a worker holds is missing only if the forest did not need it, and then other nodes cover
// it. Each finished node lacks the skipped partitions and no others. No ref is forgotten.
func TestForestHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree, err := engine.NewTree(rapid.Uint64Range(1, 20).Draw(t, "partitions"))
		if err != nil {
			t.Fatal(err)
		}
		f := newForest(tree)
		h := &heldCopies{T: t, forest: f, job: &job{tree: tree, forest: f}, held: map[holding]uint64{}, refs: map[Ref]finishedPartial{}}
		node := func() engine.Node {
			lo := rapid.Uint64Range(0, tree.Partitions()-1).Draw(t, "partition")
			n := engine.Leaf(lo)
			for range rapid.IntRange(0, int(tree.Root().Level)).Draw(t, "level") {
				n = n.Parent()
			}
			return tree.Lift(n)
		}
		var last Ref
		merged := map[engine.Node]bool{} // requested merges
		request := func(n engine.Node) {
			for {
				parent, left, right, ok := f.siblings(n)
				if !ok {
					return
				}
				if left.empty() || right.empty() {
					with := left
					if left.empty() {
						with = right
					}
					f.replace(parent, with)
					n = parent
					continue
				}
				merged[parent] = true
				l, r, wanted := f.operands(parent)
				if !wanted || l != left || r != right {
					t.Fatalf("the operands of %v are not the siblings that were found", parent)
				}
				return
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) {
				h.check()
				for n := range merged {
					left, right, ok := f.operands(n)
					if !ok {
						continue
					}
					a, b := tree.Children(n)
					if left.done != tree.Span(a).Len() || right.done != tree.Span(b).Len() {
						t.Fatalf("the operands of %v have %d and %d partitions, want %v and %v", n, left.done, right.done, tree.Span(a), tree.Span(b))
					}
				}
			},
			"hold": func(*rapid.T) {
				n := node()
				c := holding{worker: rapid.SampledFrom([]string{"w1", "w2", "w3"}).Draw(t, "worker"), node: n}
				before := f.done()
				needed, added := f.hold(holding{worker: c.worker, node: n})
				if needed {
					h.held[c] = h.job.lacking(tree.Span(n))
				} else {
					delete(h.held, c)
				}
				if f.anyMissing(tree.Span(n)) || added != (f.done() > before) && !added {
					t.Fatalf("hold %v: needed %v, added %v, and partitions are missing", n, needed, added)
				}
				if added {
					request(n)
				}
			},
			"lose": func(*rapid.T) {
				list := h.needed()
				if len(list) == 0 {
					return
				}
				c := rapid.SampledFrom(list).Draw(t, "copy")
				delete(h.held, c)
				lost := f.lose(c.worker, c.node)
				for n := range merged { // remove the merges in the same way as the ledger withdraws calls
					if _, _, ok := f.operands(n); !ok {
						delete(merged, n)
					}
				}
				for _, gap := range f.missing(tree.Span(c.node)) {
					if !lost.Contains(gap) {
						t.Fatalf("%v is missing, lose returned %v", gap, lost)
					}
				}
			},
			"store": func(*rapid.T) {
				list := h.needed()
				if len(list) == 0 {
					return
				}
				c := rapid.SampledFrom(list).Draw(t, "copy")
				last++
				h.refs[last] = finishedPartial{c.node, h.held[c]}
				finished := FinishedNode{Node: c.node, Ref: last}
				drop, kept := f.keep(finished)
				if !kept {
					drop, _ = f.insert(finished)
				}
				h.drop(drop)
				h.kept.add(tree.Span(c.node))
			},
			"insert": func(*rapid.T) {
				n := node()
				lacking := h.job.lacking(tree.Span(n))
				if lacking != 0 && rapid.Bool().Draw(t, "whole") {
					if f.covers(n) { // the ledger drops the partial
						return
					}
					lacking = 0
				}
				last++
				h.refs[last] = finishedPartial{n, lacking}
				drop, added := f.insert(FinishedNode{Node: n, Ref: last})
				h.drop(drop)
				if added && lacking == 0 {
					h.job.unskip(tree.Span(n))
				}
				h.kept.add(tree.Span(n))
				if added {
					request(n)
				}
			},
			"skip": func(*rapid.T) {
				p := rapid.Uint64Range(0, tree.Partitions()-1).Draw(t, "partition")
				if !f.anyMissing(single(p)) {
					return
				}
				h.job.skipped.insert(skippedPartition(p))
				drop, _ := f.insert(FinishedNode{Node: engine.Leaf(p)})
				h.drop(drop)
				request(engine.Leaf(p))
			},
			"durable": func(*rapid.T) { f.markDurable(node()) },
		})
	})
}

// TestReplaceInARaggedTree replaces a node that has no right child with its grandchild.
func TestReplaceInARaggedTree(t *testing.T) {
	tree, err := engine.NewTree(12)
	if err != nil {
		t.Fatal(err)
	}
	f := newForest(tree)
	skip := func(partition uint64) {
		f.insert(FinishedNode{Node: engine.Leaf(partition)})
		for n := engine.Leaf(partition); ; {
			parent, left, right, ok := f.siblings(n)
			if !ok {
				return
			}
			with := left
			if left.empty() {
				with = right
			}
			f.replace(parent, with)
			n = parent
		}
	}
	f.insert(FinishedNode{Node: engine.Leaf(10), Ref: 1})
	skip(11)
	f.hold(holding{worker: "w1", node: engine.Leaf(10)})
	skip(8)
	skip(9)
	if at := f.walk(engine.Node{Level: 2, Index: 2}, func(*treeNode) bool { return true }); at[len(at)-1].done != 3 {
		t.Errorf("the node of partitions 8 to 11 counts %d finished partitions, want 3: partition 10 of the worker, and those skipped before", at[len(at)-1].done)
	}
}

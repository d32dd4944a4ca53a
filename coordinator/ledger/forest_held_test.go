package ledger

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bellwether-compute/bellwether/jobs"
)

// heldCopies compares a forest with the copies that workers and the caller have.
type heldCopies struct {
	*rapid.T
	forest *forest
	held   map[holding]bool // nodes that the forest needs
	refs   map[Ref]jobs.Node
	kept   spanSet // partitions whose partials the caller has received
}

// check checks the forest's counters, and that every finished partition has a copy.
func (h *heldCopies) check() {
	f := h.forest
	if n := countBelow(f.root); n != f.treeNodes {
		h.Fatalf("forest counts %d tree nodes, and has %d", f.treeNodes, n)
	}
	if n := maximal(f.root); n != f.partials {
		h.Fatalf("forest counts %d partials, and has %d", f.partials, n)
	}
	var walk func(n jobs.Node, p *treeNode) uint64
	walk = func(n jobs.Node, p *treeNode) uint64 {
		if p == nil {
			return 0
		}
		var below uint64
		if n.Level > 0 {
			below = walk(n.Left(), p.child[0]) + walk(n.Right(), p.child[1])
		}
		span := f.tree.Span(n)
		switch {
		case p.finished && p.done != span.Len() || !p.finished && p.done != below:
			h.Fatalf("node %v (finished: %v) counts %d partitions, below it are %d", n, p.finished, p.done, below)
		case !p.finished && (p.held != nil || p.ref != NoRef):
			h.Fatalf("node %v has a copy, and is not finished", n)
		case !p.finished && p != f.root && p.child == [2]*treeNode{}:
			h.Fatalf("node %v is neither finished nor above a finished node", n)
		case p.held != nil && !h.held[holding{worker: p.held.worker, node: p.held.node}]:
			h.Fatalf("node %v is held by %s, which does not hold it", n, p.held.worker)
		case p.ref != NoRef && h.refs[p.ref] == jobs.Node{Level: 99}:
			h.Fatalf("node %v has the dropped ref %d", n, p.ref)
		}
		return p.done
	}
	walk(f.tree.Root(), f.root)
	kept := h.kept
	kept.spans = slices.Clone(kept.spans)
	for _, n := range f.finishedNodes() {
		kept.remove(f.tree.Span(n.Node))
	}
	if kept.size > 0 {
		h.Fatalf("the caller was given %v, which only workers have", kept.spans)
	}
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

// TestForestHolds lets workers hold and lose nodes in any order, and gives the caller copies of
// some nodes. The partitions of a held node are never missing, unless the forest does not need the
// node because another node covers them.
func TestForestHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree, err := jobs.NewTree(rapid.Uint64Range(1, 20).Draw(t, "partitions"))
		if err != nil {
			t.Fatal(err)
		}
		h := &heldCopies{T: t, forest: newForest(tree), held: map[holding]bool{}, refs: map[Ref]jobs.Node{}}
		f := h.forest
		node := func() jobs.Node {
			lo := rapid.Uint64Range(0, tree.Partitions()-1).Draw(t, "partition")
			n := jobs.Leaf(lo)
			for range rapid.IntRange(0, int(tree.Root().Level)).Draw(t, "level") {
				n = n.Parent()
			}
			return tree.Lift(n)
		}
		var last Ref
		merged := map[jobs.Node]bool{} // requested merges
		request := func(n jobs.Node) {
			if parent, left, right, ok := f.siblings(n); ok {
				merged[parent] = true
				l, r, wanted := f.operands(parent)
				if !wanted || l != left || r != right {
					t.Fatalf("the operands of %v are not the siblings that were found", parent)
				}
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
				needed, added := f.hold(holding{worker: c.worker, node: n, whole: true})
				if needed {
					h.held[c] = true
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
				h.refs[last] = c.node
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
				last++
				h.refs[last] = n
				drop, added := f.insert(FinishedNode{Node: n, Ref: last})
				h.drop(drop)
				h.kept.add(tree.Span(n))
				if added {
					request(n)
				}
			},
			"durable": func(*rapid.T) { f.settle(node()) },
		})
	})
}

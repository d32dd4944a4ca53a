package ledger

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// naiveForest represents a forest as a set of finished partitions and a set of maximal finished
// nodes.
type naiveForest struct {
	tree  engine.Tree
	done  map[uint64]bool
	nodes map[engine.Node]Ref
}

// insert has the same effect as forest.insert, but compares the new node with every node.
func (f *naiveForest) insert(n engine.Node, ref Ref) (drop []Ref, added bool) {
	span := f.tree.Span(n)
	for m := range f.nodes {
		if f.tree.Span(m).Contains(span) {
			return []Ref{ref}, false
		}
	}
	for m, r := range f.nodes {
		if span.Contains(f.tree.Span(m)) {
			drop = append(drop, r)
			delete(f.nodes, m)
		}
	}
	f.nodes[n] = ref
	for p := span.Lo; p < span.Hi; p++ {
		f.done[p] = true
	}
	slices.Sort(drop)
	return drop, true
}

// countBelow counts the tree nodes below a given tree node.
func countBelow(p *treeNode) (n int) {
	for _, child := range p.child {
		if child != nil {
			n += 1 + countBelow(child)
		}
	}
	return n
}

// check compares a forest with a naiveForest.
func (f *naiveForest) check(t rapid.TB, got *forest) {
	t.Helper()
	nodes := got.finishedNodes()
	lo := uint64(0)
	for _, n := range nodes {
		span := f.tree.Span(n.Node)
		if span.Lo < lo || !f.tree.Contains(n.Node) {
			t.Fatalf("nodes %v are not in order, or not of the tree", nodes)
		}
		lo = span.Hi
		if ref, ok := f.nodes[n.Node]; !ok || ref != n.Ref {
			t.Fatalf("forest has %v with ref %d, want %v", n.Node, n.Ref, f.nodes)
		}
	}
	if n := countBelow(got.root); n != got.treeNodes {
		t.Fatalf("forest counts %d tree nodes, and has %d", got.treeNodes, n)
	}
	if n := len(slices.DeleteFunc(slices.Clone(nodes), func(n FinishedNode) bool { return n.Ref == NoRef })); n != got.partials {
		t.Fatalf("forest counts %d partials, and has %d", got.partials, n)
	}
	if len(nodes) != len(f.nodes) || got.done() != uint64(len(f.done)) {
		t.Fatalf("forest has %v and %d partitions, want %v and %d", nodes, got.done(), f.nodes, len(f.done))
	}
}

func (f *naiveForest) checkMissing(t rapid.TB, got *forest, span engine.Span) {
	t.Helper()
	var want spanSet
	for p := span.Lo; p < min(span.Hi, f.tree.Partitions()); p++ {
		if !f.done[p] {
			want.add(single(p))
		}
	}
	if missing := got.missing(span); !slices.Equal(missing, want.spans) {
		t.Fatalf("missing(%v) = %v, want %v", span, missing, want.spans)
	}
	if got.anyMissing(span) != (want.size > 0) {
		t.Fatalf("anyMissing(%v) = %v, missing are %v", span, want.size == 0, want.spans)
	}
}

// checkForest inserts the covers of spans one after the other and compares the forest with a
// naiveForest. MergeNow decides whether a requested merge is done next.
func checkForest(t rapid.TB, n uint64, spans []engine.Span, mergeNow func() bool) {
	tree, err := engine.NewTree(n)
	if err != nil {
		t.Fatal(err)
	}
	got := newForest(tree)
	naive := &naiveForest{tree, map[uint64]bool{}, map[engine.Node]Ref{}}
	ref := Ref(0)
	type merge struct {
		node        engine.Node
		left, right Ref
	}
	var merges []merge
	requested := map[engine.Node]bool{}
	insert := func(node engine.Node) {
		ref++
		drop, added := got.insert(FinishedNode{Node: node, Ref: ref})
		slices.Sort(drop)
		want, wantAdded := naive.insert(node, ref)
		if added != wantAdded || !slices.Equal(drop, want) {
			t.Fatalf("insert(%v) = %v, %v, want %v, %v", node, drop, added, want, wantAdded)
		}
		if !added {
			return
		}
		parent, left, right, ok := got.siblings(node)
		if !ok {
			return
		}
		l, r := tree.Children(parent)
		if naive.nodes[l] != left.ref || naive.nodes[r] != right.ref || requested[parent] {
			t.Fatalf("siblings of %v: %v of %d and %d, want %d and %d", node, parent, left.ref, right.ref, naive.nodes[l], naive.nodes[r])
		}
		requested[parent] = true
		merges = append(merges, merge{parent, left.ref, right.ref})
	}
	finishMerge := func() {
		m := merges[0]
		merges = merges[1:]
		insert(m.node)
		requested[m.node] = false
	}
	for _, span := range spans {
		for _, node := range tree.Cover(span) {
			insert(node)
			naive.check(t, got)
			if len(merges) > 0 && mergeNow() {
				finishMerge()
				naive.check(t, got)
			}
		}
		naive.checkMissing(t, got, span)
		naive.checkMissing(t, got, engine.Span{Lo: span.Lo / 2, Hi: span.Hi + 3})
	}
	for len(merges) > 0 {
		finishMerge()
	}
	naive.check(t, got)
	if got.done() == n && !got.root.finished {
		t.Fatalf("everything is finished and merged, the root is not: %v", got.finishedNodes())
	}
}

func TestForestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(1, 70).Draw(t, "n")
		spans := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) engine.Span {
			lo := rapid.Uint64Range(0, n-1).Draw(t, "lo")
			return engine.Span{Lo: lo, Hi: rapid.Uint64Range(lo, n).Draw(t, "hi")}
		}), 0, 12).Draw(t, "spans")
		checkForest(t, n, spans, func() bool { return rapid.Bool().Draw(t, "merge") })
	})
}

// TestForestDependsOnFinishedPartitionsOnly finishes nodes in any order, also repeatedly and one
// inside another, and performs merges at any time. The forest always covers exactly the finished
// partitions, and each of its partials was made by the same merges.
func TestForestDependsOnFinishedPartitionsOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree, err := engine.NewTree(rapid.Uint64Range(1, 100).Draw(t, "n"))
		if err != nil {
			t.Fatal(err)
		}
		finished := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) engine.Node {
			level := uint8(rapid.IntRange(0, int(tree.Root().Level)).Draw(t, "level"))
			return tree.Lift(engine.Node{Level: level, Index: rapid.Uint64Range(0, tree.Partitions()-1).Draw(t, "partition") >> level})
		}), 1, 40).Draw(t, "finished")
		g := merging{tree: tree, forest: newForest(tree), partials: []string{""}}
		var done spanSet
		for _, n := range finished {
			done.add(tree.Span(n))
			g.insert(t, n, traceOf(tree, n))
			for len(g.merges) > 0 && rapid.Bool().Draw(t, "merge") {
				g.merge(t, rapid.IntRange(0, len(g.merges)-1).Draw(t, "which"))
			}
		}
		for len(g.merges) > 0 {
			g.merge(t, rapid.IntRange(0, len(g.merges)-1).Draw(t, "which"))
		}
		var want []engine.Node
		for _, span := range done.spans {
			want = append(want, tree.Cover(span)...)
		}
		var got []engine.Node
		for _, n := range g.forest.finishedNodes() {
			got = append(got, n.Node)
			if trace := g.partials[n.Ref]; trace != traceOf(tree, n.Node) {
				t.Fatalf("node %v came from %s, want %s", n.Node, trace, traceOf(tree, n.Node))
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("forest of %v is %v, want %v", done.spans, got, want)
		}
	})
}

// traceOf returns the merges that produce a node's partial, according to the definition of the
// tree.
func traceOf(tree engine.Tree, n engine.Node) string {
	span := tree.Span(n)
	if span.Len() == 1 {
		return fmt.Sprint(span.Lo)
	}
	left, right := tree.Children(n)
	return "(" + traceOf(tree, left) + " " + traceOf(tree, right) + ")"
}

// merging is a forest with the traces of its partials and the requested merges.
type merging struct {
	tree     engine.Tree
	forest   *forest
	partials []string // traces, by Ref
	merges   []Merge
}

func (g *merging) insert(t *rapid.T, n engine.Node, trace string) {
	ref := Ref(len(g.partials))
	g.partials = append(g.partials, trace)
	if _, added := g.forest.insert(FinishedNode{Node: n, Ref: ref}); !added {
		return
	}
	if parent, left, right, ok := g.forest.siblings(n); ok {
		if l, r := g.tree.Children(parent); traceOf(g.tree, l) != g.partials[left.ref] || traceOf(g.tree, r) != g.partials[right.ref] {
			t.Fatalf("node %v is to come from %s and %s", parent, g.partials[left.ref], g.partials[right.ref])
		}
		g.merges = append(g.merges, Merge{Node: parent, Left: left.ref, Right: right.ref})
	}
}

func (g *merging) merge(t *rapid.T, i int) {
	m := g.merges[i]
	g.merges = slices.Delete(g.merges, i, i+1)
	g.insert(t, m.Node, "("+g.partials[m.Left]+" "+g.partials[m.Right]+")")
}

func FuzzForest(f *testing.F) {
	f.Add(uint64(5), []byte{0, 5, 2, 3})
	f.Add(uint64(64), []byte{0, 32, 32, 64, 3, 9})
	f.Fuzz(func(t *testing.T, n uint64, data []byte) {
		n = n%100 + 1
		var spans []engine.Span
		for ; len(data) > 1; data = data[2:] {
			lo := uint64(data[0]) % n
			spans = append(spans, engine.Span{Lo: lo, Hi: lo + uint64(data[1])%(n-lo+1)})
		}
		flip := false
		checkForest(t, n, spans, func() bool { flip = !flip; return flip })
	})
}

// TestForestOfManyPartitions checks that the forest's size does not depend on the number of
// partitions.
func TestForestOfManyPartitions(t *testing.T) {
	tree, err := engine.NewTree(engine.MaxPartitions)
	if err != nil {
		t.Fatal(err)
	}
	f := newForest(tree)
	span := engine.Span{Lo: 12345, Hi: engine.MaxPartitions - 678}
	for i, n := range tree.Cover(span) {
		f.insert(FinishedNode{Node: n, Ref: Ref(i + 1)})
	}
	if f.done() != span.Len() || f.anyMissing(span) {
		t.Errorf("%d partitions are finished, want %d", f.done(), span.Len())
	}
	want := []engine.Span{{Lo: 0, Hi: span.Lo}, {Lo: span.Hi, Hi: engine.MaxPartitions}}
	if got := f.missing(engine.Span{Hi: engine.MaxPartitions}); !slices.Equal(got, want) {
		t.Errorf("missing %v, want %v", got, want)
	}
}

// TestForestSkips completes a node without a merge, because one of its children was skipped.
func TestForestSkips(t *testing.T) {
	tree, _ := engine.NewTree(3)
	f := newForest(tree)
	f.insert(FinishedNode{Node: engine.Leaf(0)})
	f.insert(FinishedNode{Node: engine.Leaf(1), Ref: 7, Size: 9})
	parent, left, right, ok := f.siblings(engine.Leaf(1))
	if !ok || left.ref != NoRef || right.ref != 7 || parent != (engine.Node{Level: 1}) {
		t.Fatalf("siblings: %v of %v and %v, %v", parent, left, right, ok)
	}
	f.replace(parent, right)
	if _, _, _, again := f.siblings(engine.Leaf(1)); again {
		t.Error("a replaced node still has siblings to merge")
	}
	if got := f.finishedNodes(); !slices.Equal(got, []FinishedNode{{Node: engine.Node{Level: 1}, Ref: 7, Size: 9}}) {
		t.Errorf("nodes are %v", got)
	}
	if n := countBelow(f.root); n != f.treeNodes || f.partials != 1 {
		t.Errorf("forest counts %d tree nodes and %d partials, and has %d and 1", f.treeNodes, f.partials, n)
	}
}

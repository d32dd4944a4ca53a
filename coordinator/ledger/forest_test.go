package ledger

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bellwether-compute/bellwether/jobs"
)

// naiveForest is a forest as plain sets: which partitions are finished, and which
// nodes are there.
type naiveForest struct {
	tree  jobs.Tree
	done  map[uint64]bool
	nodes map[jobs.Node]Ref
}

// insert does what forest.insert does, by looking at everything.
func (f *naiveForest) insert(n jobs.Node, ref Ref) (forget []Ref, added bool) {
	span := f.tree.Span(n)
	for m := range f.nodes {
		if f.tree.Span(m).Contains(span) {
			return []Ref{ref}, false
		}
	}
	for m, r := range f.nodes {
		if span.Contains(f.tree.Span(m)) {
			forget = append(forget, r)
			delete(f.nodes, m)
		}
	}
	f.nodes[n] = ref
	for p := span.Lo; p < span.Hi; p++ {
		f.done[p] = true
	}
	slices.Sort(forget)
	return forget, true
}

// countBelow counts the places below one.
func countBelow(p *place) (n int) {
	for _, child := range p.child {
		if child != nil {
			n += 1 + countBelow(child)
		}
	}
	return n
}

// check compares a forest with the naive one.
func (f *naiveForest) check(t rapid.TB, got *forest) {
	t.Helper()
	nodes := got.nodes()
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
	if n := countBelow(got.root); n != got.places {
		t.Fatalf("forest counts %d places, and has %d", got.places, n)
	}
	if len(nodes) != len(f.nodes) || got.done() != uint64(len(f.done)) {
		t.Fatalf("forest has %v and %d partitions, want %v and %d", nodes, got.done(), f.nodes, len(f.done))
	}
}

func (f *naiveForest) checkMissing(t rapid.TB, got *forest, span jobs.Span) {
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

// checkForest inserts the covers of spans one after the other, merging siblings
// as told, and compares.
func checkForest(t rapid.TB, n uint64, spans []jobs.Span, mergeNow func() bool) {
	tree, err := jobs.NewTree(n)
	if err != nil {
		t.Fatal(err)
	}
	got := newForest(tree)
	naive := &naiveForest{tree, map[uint64]bool{}, map[jobs.Node]Ref{}}
	ref := Ref(0)
	type merge struct {
		node        jobs.Node
		left, right Ref
	}
	var merges []merge
	asked := map[jobs.Node]bool{}
	insert := func(node jobs.Node) {
		ref++
		forget, added := got.insert(node, ref)
		slices.Sort(forget)
		want, wantAdded := naive.insert(node, ref)
		if added != wantAdded || !slices.Equal(forget, want) {
			t.Fatalf("insert(%v) = %v, %v, want %v, %v", node, forget, added, want, wantAdded)
		}
		if !added {
			return
		}
		parent, left, right, ok := got.siblings(node)
		if !ok {
			return
		}
		l, r := tree.Children(parent)
		if naive.nodes[l] != left || naive.nodes[r] != right || asked[parent] {
			t.Fatalf("siblings of %v: %v of %d and %d, want %d and %d", node, parent, left, right, naive.nodes[l], naive.nodes[r])
		}
		asked[parent] = true
		merges = append(merges, merge{parent, left, right})
	}
	finishMerge := func() {
		m := merges[0]
		merges = merges[1:]
		insert(m.node)
		asked[m.node] = false
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
		naive.checkMissing(t, got, jobs.Span{Lo: span.Lo / 2, Hi: span.Hi + 3})
	}
	for len(merges) > 0 {
		finishMerge()
	}
	naive.check(t, got)
	if got.done() == n && !got.root.finished {
		t.Fatalf("everything is finished and merged, the root is not: %v", got.nodes())
	}
}

func TestForestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(1, 70).Draw(t, "n")
		spans := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) jobs.Span {
			lo := rapid.Uint64Range(0, n-1).Draw(t, "lo")
			return jobs.Span{Lo: lo, Hi: rapid.Uint64Range(lo, n).Draw(t, "hi")}
		}), 0, 12).Draw(t, "spans")
		checkForest(t, n, spans, func() bool { return rapid.Bool().Draw(t, "merge") })
	})
}

func FuzzForest(f *testing.F) {
	f.Add(uint64(5), []byte{0, 5, 2, 3})
	f.Add(uint64(64), []byte{0, 32, 32, 64, 3, 9})
	f.Fuzz(func(t *testing.T, n uint64, data []byte) {
		n = n%100 + 1
		var spans []jobs.Span
		for ; len(data) > 1; data = data[2:] {
			lo := uint64(data[0]) % n
			spans = append(spans, jobs.Span{Lo: lo, Hi: lo + uint64(data[1])%(n-lo+1)})
		}
		flip := false
		checkForest(t, n, spans, func() bool { flip = !flip; return flip })
	})
}

// TestForestOfManyPartitions checks that the forest's size follows the finished
// nodes, not the partitions.
func TestForestOfManyPartitions(t *testing.T) {
	tree, err := jobs.NewTree(jobs.MaxPartitions)
	if err != nil {
		t.Fatal(err)
	}
	f := newForest(tree)
	span := jobs.Span{Lo: 12345, Hi: jobs.MaxPartitions - 678}
	for i, n := range tree.Cover(span) {
		f.insert(n, Ref(i+1))
	}
	if f.done() != span.Len() || f.anyMissing(span) {
		t.Errorf("%d partitions are finished, want %d", f.done(), span.Len())
	}
	want := []jobs.Span{{Lo: 0, Hi: span.Lo}, {Lo: span.Hi, Hi: jobs.MaxPartitions}}
	if got := f.missing(jobs.Span{Hi: jobs.MaxPartitions}); !slices.Equal(got, want) {
		t.Errorf("missing %v, want %v", got, want)
	}
}

// TestForestSkips checks the climb over nodes that have no partial.
func TestForestSkips(t *testing.T) {
	tree, _ := jobs.NewTree(3)
	f := newForest(tree)
	f.insert(jobs.Leaf(0), NoRef)
	f.insert(jobs.Leaf(1), 7)
	parent, left, right, ok := f.siblings(jobs.Leaf(1))
	if !ok || left != NoRef || right != 7 || parent != (jobs.Node{Level: 1}) {
		t.Fatalf("siblings: %v of %d and %d, %v", parent, left, right, ok)
	}
	f.replace(parent, 7)
	if _, _, _, again := f.siblings(jobs.Leaf(1)); again {
		t.Error("a node that was replaced has siblings left to merge")
	}
	if got := f.nodes(); !slices.Equal(got, []Finished{{jobs.Node{Level: 1}, 7}}) {
		t.Errorf("nodes are %v", got)
	}
	if n := countBelow(f.root); n != f.places {
		t.Errorf("forest counts %d places, and has %d", f.places, n)
	}
}

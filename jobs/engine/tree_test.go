package engine

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

func TestNewTreeBounds(t *testing.T) {
	for _, n := range []uint64{0, MaxPartitions + 1, ^uint64(0)} {
		if _, err := NewTree(n); err == nil {
			t.Errorf("NewTree(%d) gave no error", n)
		}
	}
	for _, n := range []uint64{1, 2, 3, MaxPartitions - 1, MaxPartitions} {
		if _, err := NewTree(n); err != nil {
			t.Errorf("NewTree(%d): %v", n, err)
		}
	}
}

func TestTreeOfFive(t *testing.T) {
	tree := mustTree(t, 5)
	if got, want := tree.Root(), (Node{3, 0}); got != want {
		t.Errorf("root is %v, want %v", got, want)
	}
	lifted := map[Node]Node{
		{0, 0}: {0, 0}, {0, 3}: {0, 3}, {1, 1}: {1, 1}, {2, 0}: {2, 0},
		{0, 4}: {2, 1}, {1, 2}: {2, 1}, {2, 1}: {2, 1}, {3, 0}: {3, 0},
	}
	for n, want := range lifted {
		if got := tree.Lift(n); got != want {
			t.Errorf("Lift(%v) = %v, want %v", n, got, want)
		}
		if got := tree.Contains(n); got != (n == want) {
			t.Errorf("Contains(%v) = %v", n, got)
		}
	}
	for _, n := range []Node{{0, 5}, {1, 3}, {2, 2}, {3, 1}, {4, 0}, {255, 0}, {0, ^uint64(0)}, {63, 1}, {64, 0}} {
		if tree.Contains(n) {
			t.Errorf("Contains(%v), which is outside", n)
		}
	}
	if l, r := tree.Children(Node{3, 0}); l != (Node{2, 0}) || r != (Node{2, 1}) {
		t.Errorf("children of the root are %v and %v", l, r)
	}
}

func TestTreeOfOne(t *testing.T) {
	tree := mustTree(t, 1)
	if root := tree.Root(); root != Leaf(0) || !tree.Contains(root) || tree.Lift(root) != root || tree.Span(root) != (Span{0, 1}) {
		t.Errorf("root %v covers %v", root, tree.Span(root))
	}
}

func TestCoverLeavesOutWhatIsNotThere(t *testing.T) {
	tree := mustTree(t, 5)
	if got := tree.Cover(Span{4, ^uint64(0)}); len(got) != 1 || got[0] != (Node{2, 1}) {
		t.Errorf("cover of [4, ...) is %v", got)
	}
	for _, s := range []Span{{5, 9}, {3, 3}, {4, 2}} {
		if got := tree.Cover(s); len(got) != 0 {
			t.Errorf("cover of %v is %v", s, got)
		}
	}
}

func TestSpan(t *testing.T) {
	if n := (Span{7, 3}).Len(); n != 0 {
		t.Errorf("an inside-out span has length %d", n)
	}
	if !(Span{2, 9}).Contains(Span{2, 9}) || (Span{2, 9}).Contains(Span{1, 3}) || (Span{2, 9}).Contains(Span{8, 10}) {
		t.Error("Contains is wrong at a bound")
	}
}

func TestTreeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawPartitions(t)
		lo := rapid.Uint64Range(0, n-1).Draw(t, "lo")
		checkTree(t, n, lo, rapid.Uint64Range(lo, n).Draw(t, "hi"), uint8(rapid.IntRange(0, 62).Draw(t, "level")))
	})
}

func FuzzTree(f *testing.F) {
	f.Add(uint64(1), uint64(0), uint64(1), uint8(0))
	f.Add(uint64(5), uint64(3), uint64(5), uint8(1))
	f.Add(uint64(1)<<62, uint64(1), uint64(1)<<62-1, uint8(62))
	f.Add(uint64(1)<<61+1, uint64(0), uint64(1)<<61+1, uint8(61))
	f.Add(uint64(1_000_000), uint64(999_999), uint64(1_000_000), uint8(3))
	f.Add(uint64(0), uint64(0), uint64(0), uint8(0))
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, n, lo, hi uint64, level uint8) {
		if _, err := NewTree(n); (err == nil) != (n >= 1 && n <= MaxPartitions) {
			t.Fatalf("NewTree(%d): %v", n, err)
		} else if err != nil {
			corpus.Refused()
			return
		}
		corpus.Taken()
		mustTree(t, n).Contains(Node{level, lo}) // Contains must not panic for any node
		lo %= n
		checkTree(t, n, lo, lo+hi%(n-lo+1), level%63)
	})
}

// checkTree checks the invariants of the tree of n partitions, of the span [lo, hi), and of the
// node above partition lo on a level.
func checkTree(t rapid.TB, n, lo, hi uint64, level uint8) {
	t.Helper()
	tree := mustTree(t, n)
	root := tree.Root()
	if !tree.Contains(root) || tree.Span(root) != (Span{0, n}) || tree.Lift(root) != root {
		t.Fatalf("root %v covers %v", root, tree.Span(root))
	}

	node := Node{min(level, root.Level), lo >> min(level, root.Level)}
	span := tree.Span(node)
	if span.Empty() || span.Lo > lo || lo >= span.Hi || span.Hi > n {
		t.Fatalf("%v covers %v and should hold %d", node, span, lo)
	}
	lifted := tree.Lift(node)
	if tree.Span(lifted) != span || !tree.Contains(lifted) || tree.Lift(lifted) != lifted {
		t.Fatalf("Lift(%v) = %v covers %v, not %v, or is not a node", node, lifted, tree.Span(lifted), span)
	}
	if tree.Contains(node) != (node == lifted) {
		t.Fatalf("Contains(%v) with highest name %v", node, lifted)
	}
	if lifted != root && tree.Span(lifted.Parent()) == span {
		t.Fatalf("%v is not the highest name of %v", lifted, span)
	}
	if span.Len() > 1 {
		left, right := tree.Children(lifted)
		l, r := tree.Span(left), tree.Span(right)
		if l.Lo != span.Lo || l.Hi != r.Lo || r.Hi != span.Hi || l.Empty() || r.Empty() {
			t.Fatalf("children %v of %v cover %v and %v", lifted, span, l, r)
		}
		if tree.Lift(left) != left || tree.Lift(right) != right {
			t.Fatalf("children %v and %v of %v are not under their highest names", left, right, lifted)
		}
		if left.Sibling() != right || right.Sibling() != left || left.IsRight() || !right.IsRight() {
			t.Fatalf("children %v and %v of %v are not siblings", left, right, lifted)
		}
		if tree.Lift(left.Parent()) != lifted || tree.Lift(right.Parent()) != lifted {
			t.Fatalf("%v and %v are not children of %v", left, right, lifted)
		}
	}

	cover := tree.Cover(Span{lo, hi})
	at := lo
	perLevel := make(map[uint8]int)
	for i, c := range cover {
		s := tree.Span(c)
		if s.Lo != at || !tree.Contains(c) {
			t.Fatalf("cover %v of [%d,%d): %v covers %v, or is not a node", cover, lo, hi, c, s)
		}
		at = s.Hi
		if perLevel[c.Level]++; perLevel[c.Level] > 2 {
			t.Fatalf("cover %v of [%d,%d) has more than two nodes of level %d", cover, lo, hi, c.Level)
		}
		if i > 0 && cover[i-1] == c.Sibling() {
			t.Fatalf("cover %v of [%d,%d) holds siblings", cover, lo, hi)
		}
	}
	if at != hi {
		t.Fatalf("cover %v ends at %d, not at %d", cover, at, hi)
	}
}

// drawPartitions draws a number of partitions. Small numbers and numbers near powers of two are
// preferred.
func drawPartitions(t *rapid.T) uint64 {
	near := rapid.Custom(func(t *rapid.T) uint64 {
		n := uint64(1)<<rapid.IntRange(1, 62).Draw(t, "power") + rapid.Uint64Range(0, 2).Draw(t, "around") - 1
		return min(n, MaxPartitions)
	})
	return rapid.OneOf(rapid.Uint64Range(1, 70), near, rapid.Uint64Range(1, MaxPartitions)).Draw(t, "n")
}

func mustTree(t rapid.TB, n uint64) Tree {
	t.Helper()
	tree, err := NewTree(n)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestAlignedSpansMeetWhereFewNodesDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(1, 1<<40).Draw(t, "n")
		tree := mustTree(t, n)
		lo := rapid.Uint64Range(0, n-1).Draw(t, "lo")
		s := Span{lo, rapid.Uint64Range(lo+1, n).Draw(t, "hi")}
		first := s.Aligned()
		if first.Lo != s.Lo || first.Empty() || !s.Contains(first) || 8*first.Len() < 7*s.Len() {
			t.Fatalf("%v becomes %v, want at least seven eighths of it, from its beginning", s, first)
		}
		// The next span begins at the end of the first span and has the length of s before
		// rounding.
		next := Span{first.Hi, min(first.Hi+s.Len(), n)}.Aligned()
		if got := len(tree.Cover(next)); next.Hi < n && got > 8 {
			t.Fatalf("%v, after %v, is covered by %d nodes", next, first, got)
		}
	})
}

package engine

import (
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

func TestRungsHaveThreeSignificantBits(t *testing.T) {
	var rungs []uint64
	for n := uint64(1); n <= 1<<12; n++ {
		if bits.Len64(n)-bits.TrailingZeros64(n) <= 3 {
			rungs = append(rungs, n)
		}
	}
	for i, rung := range rungs {
		before := uint64(0)
		if i > 0 {
			before = rungs[i-1]
		}
		for n := before; n < rung; n++ {
			if got := NextRung(n); got != rung {
				t.Fatalf("NextRung(%d) = %d, want %d", n, got, rung)
			}
			if got := LastRung(n + 1); got != before {
				t.Fatalf("LastRung(%d) = %d, want %d", n+1, got, before)
			}
		}
		if got := RungNumber(rung); got != i+1 {
			t.Fatalf("RungNumber(%d) = %d, want %d", rung, got, i+1)
		}
		if before >= 4 && 4*rung > 5*before {
			t.Fatalf("rung %d is more than a quarter above %d", rung, before)
		}
	}
	if LastRung(0) != 0 || NextRung(MaxPartitions) <= MaxPartitions {
		t.Error("the rungs at the bounds are wrong")
	}
}

// TestPrefixesAreTreesOfTheirOwn checks that the nodes of a rung's prefix, merged from the right, perform the
// merges of a job with that many partitions, and that a merge of other nodes than those that cross a rung hides
// no node of a prefix.
func TestPrefixesAreTreesOfTheirOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawPartitions(t)
		tree := mustTree(t, n)
		rung := LastRung(rapid.Uint64Range(2, max(2, n)).Draw(t, "above"))
		nodes := tree.Prefix(rung)
		if len(nodes) > 3 {
			t.Fatalf("prefix %d of %d has the nodes %v, want at most 3", rung, n, nodes)
		}
		at := mustTree(t, min(rung, n))
		n0 := at.Root()
		for i, node := range nodes {
			if i == len(nodes)-1 {
				if at.Span(n0) != tree.Span(node) {
					t.Fatalf("prefix %d of %d ends with %v", rung, n, node)
				}
				break
			}
			left, right := at.Children(n0)
			if at.Span(left) != tree.Span(node) {
				t.Fatalf("prefix %d of %d has %v, want %v", rung, n, node, left)
			}
			n0 = right
		}
	})
}

func TestNodesCrossRungs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := max(2, drawPartitions(t))
		tree := mustTree(t, n)
		node := tree.Root()
		for i := rapid.IntRange(0, 62).Draw(t, "depth"); i > 0; i-- {
			left, right := tree.Children(node)
			next := left
			if rapid.Bool().Draw(t, "right") {
				next = right
			}
			if tree.Span(next).Len() == 1 {
				break
			}
			node = next
		}
		left, _ := tree.Children(node)
		border := tree.Span(left).Hi
		parent := left.Parent() // the name under which the node has a right child
		inside := LastRung(tree.Span(node).Hi) > tree.Span(node).Lo
		if parent.Crosses() != inside || inside && NextRung(border-1) != border {
			t.Fatalf("node %v of %d, whose children meet at %d: Crosses() = %v, and a rung lies inside %v: %v",
				node, n, border, parent.Crosses(), tree.Span(node), inside)
		}
	})
}

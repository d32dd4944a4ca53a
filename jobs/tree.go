package jobs

import (
	"errors"
	"fmt"
	"math/bits"
)

// MaxPartitions is the largest number of partitions a plan may have. It leaves
// two bits of a uint64, so that no sum of a node's bounds can overflow.
const MaxPartitions = 1 << 62

// Span is the contiguous range of partitions [Lo, Hi). It is empty where Hi is
// not above Lo.
type Span struct {
	Lo uint64 `cbor:"1,keyasint"`
	Hi uint64 `cbor:"2,keyasint"`
}

// Len is the number of partitions in the span.
func (s Span) Len() uint64 { return max(s.Hi, s.Lo) - s.Lo }

// Empty reports whether the span holds no partition.
func (s Span) Empty() bool { return s.Lo >= s.Hi }

// Contains reports whether every partition of o is in s.
func (s Span) Contains(o Span) bool { return s.Lo <= o.Lo && o.Hi <= s.Hi }

// Aligned is the span without what of it, an eighth at most, is past the last multiple
// of a certain power of two. Where spans meet at such partitions, few nodes cover them.
func (s Span) Aligned() Span {
	step := uint64(1) << max(0, bits.Len64(s.Len())-4)
	s.Hi &^= step - 1
	return s
}

// String prints the span as [lo, hi).
func (s Span) String() string { return fmt.Sprintf("[%d,%d)", s.Lo, s.Hi) }

// Node names a place in the aggregation tree: at Level k, Index i it covers the
// partitions [i·2^k, (i+1)·2^k), cut at the number of partitions.
type Node struct {
	Level uint8  `cbor:"1,keyasint"`
	Index uint64 `cbor:"2,keyasint"`
}

// Leaf is the node of a single partition.
func Leaf(partition uint64) Node { return Node{Index: partition} }

// Parent is the node one level up that contains n.
func (n Node) Parent() Node { return Node{n.Level + 1, n.Index / 2} }

// Left is the left child of n, which must not be a leaf.
func (n Node) Left() Node { return Node{n.Level - 1, n.Index * 2} }

// Right is the right child of n, which must not be a leaf.
func (n Node) Right() Node { return Node{n.Level - 1, n.Index*2 + 1} }

// Sibling is the other child of n's parent.
func (n Node) Sibling() Node { return Node{n.Level, n.Index ^ 1} }

// IsRight reports whether n is its parent's right child.
func (n Node) IsRight() bool { return n.Index&1 == 1 }

// String prints the node as level/index.
func (n Node) String() string { return fmt.Sprintf("%d/%d", n.Level, n.Index) }

// Tree is the shape of a job's aggregation tree. It follows from the number of
// partitions alone, so every run of a job performs the same merges.
//
// Where the right child of a node would begin at or past the number of
// partitions, the node is its left child: both names mean the same partial. The
// tree then uses the highest such name, and [Tree.Lift] finds it.
type Tree struct{ partitions uint64 }

// NewTree is the tree of that many partitions, 1 to [MaxPartitions].
func NewTree(partitions uint64) (Tree, error) {
	if partitions == 0 {
		return Tree{}, errors.New("a job needs at least 1 partition, got 0")
	}
	if partitions > MaxPartitions {
		return Tree{}, fmt.Errorf("a job has at most 2^62 partitions, got %d", partitions)
	}
	return Tree{partitions}, nil
}

// Partitions is the number of leaves.
func (t Tree) Partitions() uint64 { return t.partitions }

// Root is the node that covers every partition.
func (t Tree) Root() Node { return Node{Level: uint8(bits.Len64(t.partitions - 1))} }

// Span is what n covers, cut at the number of partitions. Of a node that the tree
// does not contain it says nothing useful.
func (t Tree) Span(n Node) Span {
	lo := n.Index << n.Level
	return Span{lo, min(lo+1<<n.Level, t.partitions)}
}

// Contains reports whether n is a node of the tree under its highest name. It
// takes any Node, so it is the check for one that came from elsewhere.
func (t Tree) Contains(n Node) bool {
	root := t.Root()
	if n.Level > root.Level || n.Index > (t.partitions-1)>>n.Level {
		return false
	}
	return n == root || !t.isOnlyChild(n)
}

// isOnlyChild reports whether n, not the root, stands for its parent as well.
func (t Tree) isOnlyChild(n Node) bool {
	return !n.IsRight() && (n.Index+1)<<n.Level >= t.partitions
}

// Lift returns the highest name of n: its farthest ancestor that covers the same
// partitions.
func (t Tree) Lift(n Node) Node {
	if (n.Index+1)<<n.Level < t.partitions { // not on the right edge: the common case
		return n
	}
	root := t.Root()
	for n != root && t.isOnlyChild(n) {
		n = n.Parent()
	}
	return n
}

// Children are the two nodes whose merge is n, under their highest names. The
// node must be in the tree and cover more than one partition.
func (t Tree) Children(n Node) (left, right Node) {
	for n.Level > 1 && n.Right().Index<<(n.Level-1) >= t.partitions { // n is its left child
		n = n.Left()
	}
	return n.Left(), n.Right()
}

// Cover returns the fewest nodes that together are exactly the span, in order and
// under their highest names. There are at most two per level. What lies past the
// number of partitions is left out.
func (t Tree) Cover(s Span) []Node {
	var nodes []Node
	root, hi := t.Root(), min(s.Hi, t.partitions)
	for lo := s.Lo; lo < hi; {
		n := Leaf(lo)
		for n != root && !n.IsRight() && t.Span(n.Parent()).Hi <= hi {
			n = n.Parent()
		}
		nodes = append(nodes, n)
		lo = t.Span(n).Hi
	}
	return nodes
}

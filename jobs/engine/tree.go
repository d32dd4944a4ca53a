package engine

import (
	"errors"
	"fmt"
	"math/bits"
)

// MaxPartitions is the largest number of partitions of a plan. The two highest bits of a uint64
// stay unused, so that sums of a node's bounds cannot overflow.
const MaxPartitions = 1 << 62

// Span is the contiguous range of partitions [Lo, Hi). A span is empty if Hi <= Lo.
type Span struct {
	Lo uint64 `cbor:"1,keyasint"`
	Hi uint64 `cbor:"2,keyasint"`
}

// Len returns the number of partitions in the span.
func (s Span) Len() uint64 { return max(s.Hi, s.Lo) - s.Lo }

// Empty reports whether the span holds no partition.
func (s Span) Empty() bool { return s.Lo >= s.Hi }

// Contains reports whether every partition of o is in s.
func (s Span) Contains(o Span) bool { return s.Lo <= o.Lo && o.Hi <= s.Hi }

// Aligned returns the span with Hi rounded down to a multiple of a power of two. Rounding removes
// at most an eighth of the span. A span whose bounds are multiples of a large power of two is
// covered by few nodes.
func (s Span) Aligned() Span {
	step := uint64(1) << max(0, bits.Len64(s.Len())-4)
	s.Hi &^= step - 1
	return s
}

// String returns the span as [lo,hi).
func (s Span) String() string { return fmt.Sprintf("[%d,%d)", s.Lo, s.Hi) }

// Node is a position in the aggregation tree. The node at Level k, Index i covers the partitions
// [i·2^k, (i+1)·2^k), cut at the job's number of partitions.
type Node struct {
	Level uint8  `cbor:"1,keyasint"`
	Index uint64 `cbor:"2,keyasint"`
}

// Leaf returns the node of a single partition.
func Leaf(partition uint64) Node { return Node{Index: partition} }

// Parent returns the node one level up that contains n.
func (n Node) Parent() Node { return Node{n.Level + 1, n.Index / 2} }

// Left returns the left child of n, which must not be a leaf.
func (n Node) Left() Node { return Node{n.Level - 1, n.Index * 2} }

// Right returns the right child of n, which must not be a leaf.
func (n Node) Right() Node { return Node{n.Level - 1, n.Index*2 + 1} }

// Sibling returns the other child of n's parent.
func (n Node) Sibling() Node { return Node{n.Level, n.Index ^ 1} }

// IsRight reports whether n is its parent's right child.
func (n Node) IsRight() bool { return n.Index&1 == 1 }

// String returns the node as level/index.
func (n Node) String() string { return fmt.Sprintf("%d/%d", n.Level, n.Index) }

// Tree is the shape of a job's aggregation tree. The shape depends only on the number of
// partitions, so every run of a job performs the same merges.
//
// If the right child of a node would begin at or past the number of partitions, the
// node is the same as its left child: both names mean the same partial. The tree uses
// the node's highest name, which [Tree.Lift] returns.
type Tree struct{ partitions uint64 }

// NewTree returns the tree for a job with the given number of partitions, 1 to
// [MaxPartitions].
func NewTree(partitions uint64) (Tree, error) {
	if partitions == 0 {
		return Tree{}, errors.New("0 partitions: want at least 1")
	}
	if partitions > MaxPartitions {
		return Tree{}, fmt.Errorf("%d partitions: want at most 2^62", partitions)
	}
	return Tree{partitions}, nil
}

// Partitions returns the number of partitions, which are the leaves of the tree.
func (t Tree) Partitions() uint64 { return t.partitions }

// Root returns the node that covers all partitions.
func (t Tree) Root() Node { return Node{Level: uint8(bits.Len64(t.partitions - 1))} }

// Span returns the partitions that n covers, cut at the number of partitions. The node n must be in
// the tree; n need not be the node's highest name.
func (t Tree) Span(n Node) Span {
	lo := n.Index << n.Level
	return Span{lo, min(lo+1<<n.Level, t.partitions)}
}

// Contains reports whether n is the highest name of a node in the tree. Contains accepts any Node,
// so it can check a node from a message.
func (t Tree) Contains(n Node) bool {
	root := t.Root()
	if n.Level > root.Level || n.Index > (t.partitions-1)>>n.Level {
		return false
	}
	return n == root || !t.isOnlyChild(n)
}

// isOnlyChild reports whether n covers the same partitions as its parent. The node must
// not be the root.
func (t Tree) isOnlyChild(n Node) bool {
	return !n.IsRight() && (n.Index+1)<<n.Level >= t.partitions
}

// Lift returns the highest name of n: the name of the farthest ancestor that covers the same partitions as n.
func (t Tree) Lift(n Node) Node {
	if (n.Index+1)<<n.Level < t.partitions { // in the common case n is not on the right edge
		return n
	}
	root := t.Root()
	for n != root && t.isOnlyChild(n) {
		n = n.Parent()
	}
	return n
}

// Children returns the two nodes whose merge is n, under their highest names. The node
// must be in the tree and cover more than one partition.
func (t Tree) Children(n Node) (left, right Node) {
	for n.Level > 1 && n.Right().Index<<(n.Level-1) >= t.partitions { // n has no right child, so n is the same node as its left child
		n = n.Left()
	}
	return n.Left(), n.Right()
}

// Cover returns the fewest nodes that cover exactly the span s, in order and under their highest names. Cover
// returns at most two nodes per level. Cover ignores the part of the span past the last partition.
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

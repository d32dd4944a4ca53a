package engine

import (
	"math/bits"
	"slices"
)

// A prefix of a job is its first n partitions. If a job has estimates, they are judged for the values of n
// that have at most three significant bits: 1 to 7, 8, 10, 12, 14, 16, 20 and so on. These values are
// rungs. From rung 4 on, each rung is at most a quarter above the rung before it.
//
// The nodes that cover the prefix of a rung end at rungs, and there are at most three:
//
//	rung 14:   3/0  2/2  1/6        partitions [0,8) [8,12) [12,14)
//
// If these nodes are merged from the right to the left, the partial is the same as the root of a job with 14
// partitions.

// rungBits is the number of significant bits of a rung. With four rungs between two powers of two, a stop
// needs at most a quarter more partitions than are necessary, and a job of a million partitions has 76 rungs.
const rungBits = 3

// MaxPrefixNodes is the largest number of nodes that cover the prefix of a rung.
const MaxPrefixNodes = rungBits

// NextRung returns the first rung above n.
func NextRung(n uint64) uint64 {
	step := uint64(1) << max(0, bits.Len64(n)-rungBits)
	return n&^(step-1) + step
}

// LastRung returns the highest rung below n, or 0 if n is at most 1.
func LastRung(n uint64) uint64 {
	n = max(n, 1) - 1
	return n &^ (uint64(1)<<max(0, bits.Len64(n)-rungBits) - 1)
}

// RungNumber returns the number of a rung, from 1.
func RungNumber(rung uint64) int {
	shift := max(0, bits.Len64(rung)-rungBits)
	return shift<<(rungBits-1) + int(rung>>shift)
}

// Crosses reports whether a rung separates the two children of a node, so that the children are needed for
// the prefixes up to the node's end. The node must have a right child under the given name, so it need not be
// the node's highest name.
func (n Node) Crosses() bool { return n.Index < 1<<(rungBits-1) }

// Prefix returns the nodes that cover the first n partitions, from left to right and under their highest
// names. If n is a rung, there are at most three.
func (t Tree) Prefix(n uint64) []Node { return t.Cover(Span{Hi: n}) }

// MergePrefix merges the encoded partials of the nodes of [Tree.Prefix] from the right to the left, as a tree
// does that has only the prefix's partitions. Nodes whose partitions were all skipped have no partial.
func MergePrefix(partials []Operand, merge func(left, right Operand) ([]byte, error)) (Operand, error) {
	last := len(partials) - 1
	merged := partials[last]
	for _, left := range slices.Backward(partials[:last]) {
		data, err := merge(left, merged)
		if err != nil {
			return Operand{}, err
		}
		merged = Operand{Data: data, Own: true}
	}
	return merged, nil
}

// Package jobs is what a job is written with. A [Definition] says how a
// computation is cut into partitions, what each of them computes, and how two
// neighbouring results become one; [New] makes a [Job] of it, which a cluster or
// [Local] can run. The package also holds the arithmetic of the tree along which
// results are merged, since everything that plans, runs or stores a job uses it.
//
// # The tree
//
// Partitions 0 to N-1 are the leaves of a binary tree whose shape follows from N
// alone. With N = 5:
//
//	level 3                   3/0                root: the result
//	                         /   \
//	level 2              2/0      \
//	                    /   \      \
//	level 1          1/0     1/1    \
//	                /  \    /  \     \
//	level 0       0/0 0/1 0/2 0/3    2/1         also named 1/2 and 0/4
//
//	partition      0   1   2   3      4
//
// Node k/i is the merge of (k-1)/(2i) and (k-1)/(2i+1), in that order. Where the
// right one would begin at N or later, the node is its left child, and only its
// highest name is used ([Tree.Lift]). Merges happen between siblings only, so
// every run makes the same merges of the same operands, whoever ran what, and
// floating-point sums come out bit for bit alike.
//
// A slot walks a span of partitions in order and keeps what it has on a [Stack]:
//
//	run 0        run 1        run 2           run 3
//
//	0/0          1/0          1/0 0/2         2/0
//
// Whenever the stack is drained, what it held is reported as it is, and meets
// its siblings elsewhere.
//
// # Same bytes
//
// A job's result is the same bytes on every run, however many workers took part
// and whatever died, if
//
//   - Map depends on its partition, the parameters and the plan alone: no clock,
//     no randomness that is not derived from them, no order of calls;
//   - Merge and Finish depend on their operands alone, and on no map's order;
//   - Merge is associative in meaning. It need not be commutative, and its
//     rounding errors need not be the same for another tree;
//   - a partial that was encoded and decoded is as good as before. The default
//     codec refuses types that it would not carry whole, and [New] says so;
//   - on a fleet of mixed processors, Map, Merge and Finish round each product
//     that is added, float64(x*y) + z, since Go's compilers for some processors
//     fuse the two operations, and do without the functions of package math that
//     are written in assembly for some processors, such as math.Exp and math.Log.
//     math.Sqrt is exact everywhere.
//
// A partition may run more than once, after a crash or because its worker was
// slow, and counts once all the same. What Map does besides returning its value
// must bear repetition.
//
// # What can fail
//
// Parameters are refused with an error that names the parameter, what it got and
// what it takes. An error of Map is worth another attempt unless it is marked by
// [Permanent]; it comes as a *[PartitionError]. A panic is an error with its
// stack, a *[PanicError]. An error of Merge is permanent, since the same operands
// are merged everywhere. A result that JSON cannot express, such as a NaN, is an
// error of Finish.
package jobs

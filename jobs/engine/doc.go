// Package engine is what workers and leaders know of jobs: the arithmetic of the aggregation tree, and
// the interfaces through which they run a job. Package jobs implements the interfaces, and the method
// Engine of its type Job returns a [Job]. People who write or submit jobs need only package jobs.
//
//	jobs          Definition  ──  jobs.New  ──>  Job
//	                                              │ Engine
//	jobs/engine                                   v
//	                        Merge, Finish  <──   Job   ──  Open  ──>  Task  ──  NewStack  ──>  Stack
//
// # The aggregation tree
//
// Partitions 0 to N-1 are the leaves of a binary tree whose shape depends on N
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
// Node k/i is the merge of (k-1)/(2i) and (k-1)/(2i+1), in that order. If the right child would
// begin at or past N, the node is the same as its left child. A node can thus have several names,
// and the tree uses the one with the highest level ([Tree.Lift]). Only siblings are merged, so
// every run performs the same merges on the same operands, no matter which worker runs which
// partition. Floating-point sums are therefore identical bit for bit.
//
// A slot runs the partitions of a span in order and keeps finished nodes on a [Stack]:
//
//	run 0        run 1        run 2           run 3
//
//	0/0          1/0          1/0 0/2         2/0
//
// For each report the worker removes all nodes from the stack and reports them. The leader merges
// the reported nodes with their siblings from other reports. If partials are large, a slot keeps its
// stack until the end of its span, and workers merge the nodes.
//
// # Errors
//
//   - A function of a definition fails, panics or ends its goroutine: the documentation of package
//     jobs lists the errors. A failed Run of a stack says which partition failed.
//   - NewTree refuses numbers of partitions outside 1 to [MaxPartitions].
package engine

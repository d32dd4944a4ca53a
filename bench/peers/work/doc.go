// Package work defines the tasks of all systems: empty tasks, and tasks that keep a core busy. For
// Bellwether, both kinds of task are partitions of built-in jobs:
//
//	empty      a partition of probe: a hash of the partition's number, some nanoseconds
//	simulate   a partition of montecarlo: a number of simulated share price paths
//
// Tasks are independent of one another. Partitions of the job primes are not independent, because a
// slot keeps state from one partition of a span to the next. Consumers of a queue cannot keep state
// between tasks, so a comparison with the job primes would measure locality instead of dispatch.
//
// A [Sum] shows that each task was done exactly once. A Sum contains the number of tasks, and
// either a sum of hashes modulo 2^64 or, for simulated paths, the sum of their payoffs. Payoffs are
// floats, so the last bits of the sum depend on the order of addition.
package work

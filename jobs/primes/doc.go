// Package primes is a job that finds the primes below a limit. Its result is the number
// and the sum of the primes, the largest prime, the number of twin pairs, and the largest
// gap.
//
// Each partition is a range of numbers of a fixed width. A twin pair or a gap may lie
// across the border of two ranges, so a partial also holds the first and the last prime
// of its range, and [merge] depends on the order of its operands.
//
// The numbers are sieved by the method of Eratosthenes, in blocks that fit in a processor's
// cache. The blocks use a wheel of 30: a byte has a bit for each of the eight numbers in
// thirty that 2, 3 and 5 do not divide.
//
//	number  0 ............ 983040 ............ 1966080 ...
//	block   |      0          |        1           |        2
//	partition  0  |  1  |  2  |  3  |  4  |  5  |  6  |
//
// The position of blocks does not depend on the width of partitions. A slot keeps its last
// block, and the position at which each base prime continues in the next block. So a
// partition that is much smaller than a block usually finds its block already sieved, and
// a slot that runs its span in order divides only once per base prime.
//
// The job fails only if the context is done. The context is checked between blocks.
package primes

// Package primes is a job that finds the primes below a limit. The result is the number and the sum
// of the primes, the largest prime, the number of twin primes, and the largest gap between
// neighbouring primes.
//
// Each partition is a range of numbers of a fixed width. A pair of twin primes or a gap may lie
// across the border of two ranges, so a partial also contains the first and the last prime of its
// range. The result of [merge] depends on the order of its operands.
//
// The numbers are sieved by the method of Eratosthenes, in blocks that fit in a processor's cache.
// The blocks use a wheel of 30. Of 30 consecutive numbers, only eight are not divisible by 2, 3 or
// 5, so one byte represents 30 numbers.
//
//	number  0 ............ 983040 ............ 1966080 ...
//	block   |      0          |        1           |        2
//	partition  0  |  1  |  2  |  3  |  4  |  5  |  6  |
//
// The position of blocks does not depend on the width of partitions. A slot keeps its last block,
// and, for each base prime, the position of its next multiple. The block of a partition that is
// much smaller than a block is therefore usually sieved already. A slot that runs its span in order
// needs only one division per base prime, to find the first multiple.
//
// The job fails only if the context is done. The context is checked between blocks.
package primes

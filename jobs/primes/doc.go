// Package primes is a job that finds the primes below a limit: how many there
// are, their sum, the largest, the twin pairs, and the largest gap.
//
// Each partition is a range of numbers of one fixed width. Its partial holds its
// first and last prime besides what it counted, since a twin pair or a gap may
// lie across a border: [merge] needs to know which side is left.
//
// The numbers are sieved by Eratosthenes' method in blocks that fit a processor's
// cache, on a wheel of 30: a byte has a bit for each of the eight numbers in
// thirty that 2, 3 and 5 do not divide.
//
//	number  0 ............ 983040 ............ 1966080 ...
//	block   |      0          |        1           |        2
//	partition  0  |  1  |  2  |  3  |  4  |  5  |  6  |
//
// Blocks lie on the number line as such, whatever the width of partitions. A slot
// keeps the block it sieved last, together with where each base prime goes on in
// the next one. So a partition much smaller than a block costs a glance at part
// of a block that is there already, and a slot that walks its span in order
// divides only once per base prime.
//
// Nothing here fails but for a context that is done, which is noticed between
// blocks.
package primes

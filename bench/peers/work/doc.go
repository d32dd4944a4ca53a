// Package work is what every system is given to do: tasks that are empty, and
// tasks that keep a core busy. They are those of two jobs that the bellwether
// program has built in, so that Bellwether runs them as it is:
//
//	empty      a partition of probe: a hash of its number, some nanoseconds
//	simulate   a partition of montecarlo: so many paths of a share's price
//
// Tasks know nothing of one another. That is why this is not the sieve of primes:
// its slots carry work from one partition to the next where they walk a span in
// order, which a queue's consumers cannot, so that it would compare locality and
// not dispatch.
//
// A [Sum] proves that each task was done once: by their number, by a sum of hashes
// modulo 2^64 or, of simulated paths, by the sum of what they pay. The latter is of
// floats, whose last bits depend on the order of addition.
package work

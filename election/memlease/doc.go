// Package memlease implements election.Lease in memory, for tests. A lease expires according to the
// clock of package time, also under testing/synctest, or according to a clock that the caller
// passes. Tests can make calls of the lease fail before or after they take effect, or delay their
// answers.
package memlease

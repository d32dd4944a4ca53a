// Package memlease implements election.Lease in memory, for tests. A lease expires by
// the process's clock, which also works under testing/synctest, or by a clock that the
// caller passes. Tests can make calls fail before or after they take effect, or delay
// their answers.
package memlease

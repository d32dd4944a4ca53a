// Package memlease implements election.Lease in memory, for tests. A lease expires according to the
// clock of package time, which also works under testing/synctest, or according to a clock that the
// caller passes. Tests can make calls fail before or after they take effect, or delay their
// answers.
package memlease

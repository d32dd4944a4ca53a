// Package memlease implements election.Lease in memory, for tests. A lease expires by
// the process's clock, so it works under testing/synctest, or by a clock that the
// caller gives. Calls can be made to fail before they take effect, after that, or by
// a late answer.
package memlease

// Package memory is a storage driver that keeps values and messages in memory, for tests. The
// driver passes the conformance suite of package storetest. A [Fault] makes calls fail: either
// before the call takes effect, or after the call has taken effect, as if the response was lost.
// Without a Fault, all calls succeed.
//
// The driver uses the clock of package time, so it works under testing/synctest.
package memory

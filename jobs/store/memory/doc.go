// Package memory is a storage driver that keeps values and messages in memory, for tests.
// It passes the conformance suite of package storetest. A [Fault] makes calls fail, either
// before the call takes effect or, like a lost answer, after the call took effect. Without
// a Fault, no call fails.
//
// The driver uses the clock of package time, so it works under testing/synctest.
package memory

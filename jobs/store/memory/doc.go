// Package memory is a storage driver that keeps values and messages in memory, for tests.
// It passes the conformance suite of package storetest. A [Fault] makes calls fail, either
// before they have an effect, or after it, like a lost answer. Calls do not fail otherwise.
//
// The driver uses the clock of package time, so it works under testing/synctest.
package memory

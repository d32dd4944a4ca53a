// Package memory keeps a cluster's storage in memory, for tests. It behaves like
// any driver, which package storetest sees to, and a [Fault] makes any of its
// calls fail: before it is done, or after, as when an answer is lost.
//
// It fails in no other way, and reads no clock but that of package time: under
// testing/synctest it follows the bubble's.
package memory

// Package memlease is a lease in memory, for tests of whatever takes part in
// elections. It expires by the process's clock, so it works under
// testing/synctest, and its calls can be made to fail: before they have an
// effect, after it, or too late.
package memlease

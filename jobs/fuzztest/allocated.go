package fuzztest

import "runtime"

// Allocated is how many bytes f allocates, for bounds on what input can cost.
// Nothing else may run meanwhile.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

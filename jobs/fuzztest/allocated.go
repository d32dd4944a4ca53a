package fuzztest

import "runtime"

// Allocated returns the number of bytes that f allocates. Tests use it to check that decoding an
// input allocates a bounded amount of memory. No other goroutine may run at the same time.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

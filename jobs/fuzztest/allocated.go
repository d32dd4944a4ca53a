package fuzztest

import "runtime"

// Allocated returns the number of bytes that f allocates, for tests that bound the memory
// that decoding an input takes. No other goroutine may run at the same time.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

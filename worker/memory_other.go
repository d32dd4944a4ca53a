//go:build !linux

package worker

// inMemory reports whether the files of a folder are known to be in memory.
func inMemory(string) bool { return false }

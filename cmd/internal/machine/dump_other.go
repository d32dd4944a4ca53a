//go:build !linux

package machine

// Protect does nothing, because programs of jobs run on Linux only.
func Protect() error { return nil }

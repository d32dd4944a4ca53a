//go:build unix && !race

package hostile

import (
	"fmt"
	"os"
	"syscall"
)

// limitMemory limits the writable memory of a worker. Above the limit the worker dies like any Go
// program that runs out of memory. The stacks of a worker's few dozen threads count. The limit does
// not apply to address space, because cgo reserves much address space for each thread. The limit is
// not set with the race detector, which reserves more writable memory.
func limitMemory() {
	const limit = maxMemory + maxMemory/2
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

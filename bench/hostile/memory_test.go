//go:build unix && !race

package hostile

import (
	"fmt"
	"os"
	"syscall"
)

// limitMemory limits the writable memory of a worker, which then dies as the Go runtime does
// without memory. The stacks of threads count, of which a worker has some dozens. Address space
// is not limited: cgo reserves much of it for each thread. The race detector reserves more
// writable memory than any such limit.
func limitMemory() {
	const limit = maxMemory + maxMemory/2
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

//go:build unix && !race

package hostile

import (
	"fmt"
	"os"
	"syscall"
)

// limitMemory limits the address space of a worker, which then dies as the Go runtime does
// without memory. The race detector reserves more address space than any such limit.
func limitMemory() {
	limit := syscall.Rlimit{Cur: 2 * maxMemory, Max: 2 * maxMemory}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

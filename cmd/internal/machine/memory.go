package machine

import (
	"fmt"
	"math"
	"runtime/debug"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/worker"
	"github.com/dustin/go-humanize"
)

// ParseMemory parses the value of --memory. ParseMemory returns 0 for the default.
func ParseMemory(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := jobs.ParseSize(text)
	if err != nil || n < worker.MinMemory || n > math.MaxInt64 {
		return 0, console.Usagef("--memory must be a size of at least %s, such as 3GiB, got %q", humanize.IBytes(worker.MinMemory), text)
	}
	return int64(n), nil
}

// LimitServer sets the memory limit of the Go runtime to an eighth of the machine's memory, and to at most the memory of a
// worker if it is not 0, unless GOMEMLIMIT has set one. A NATS server in this process keeps the blocks of files that it has
// read or written until the garbage collector needs the memory.
func LimitServer(each int64) {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(serverMemory(each))
	}
}

func serverMemory(each int64) int64 {
	limit := max(worker.MinMemory, worker.DefaultMemory()/6) // DefaultMemory is three quarters
	if each > 0 {
		limit = min(limit, each)
	}
	return limit
}

// MemoryEach returns the value of the flag --memory for workers that share the machine's memory.
func MemoryEach(workers int) string {
	return fmt.Sprint(max(worker.MinMemory, worker.DefaultMemory()/int64(max(1, workers))))
}

package machine

import (
	"fmt"
	"math"

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

// MemoryEach returns the value of the flag --memory for workers that share the machine's memory.
func MemoryEach(workers int) string {
	return fmt.Sprint(max(worker.MinMemory, worker.DefaultMemory()/int64(max(1, workers))))
}

package machine

import (
	"fmt"
	"math"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/worker"
	"github.com/dustin/go-humanize"
)

// MinMemory is the least value of the flag --memory in bytes.
const MinMemory = 64 << 20

// ParseMemory parses the value of --memory. ParseMemory returns 0 for the default.
func ParseMemory(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := humanize.ParseBytes(text)
	if err != nil || n < MinMemory || n > math.MaxInt64 {
		return 0, console.Usagef("--memory must be a size of at least %s, such as 3GiB, got %q", humanize.IBytes(MinMemory), text)
	}
	return int64(n), nil
}

// MemoryEach returns the value of the flag --memory for workers that share the machine's memory.
func MemoryEach(workers int) string {
	return fmt.Sprint(max(MinMemory, worker.DefaultMemory()/int64(max(1, workers))))
}

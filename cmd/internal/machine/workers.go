package machine

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/deploy/local/procs"
)

// StopTimeout is how long worker processes may take to stop. StopTimeout is longer than the drain
// timeout of the workers.
const StopTimeout = 30 * time.Second

// SlotsEach divides the machine's cores among the workers, and returns the number of slots per worker.
func SlotsEach(workers int) int { return max(1, runtime.GOMAXPROCS(0)/max(1, workers)) }

// NewWorkers returns a supervisor for worker processes of this program. NewWorkers does not start
// any process. The flags are further flags of the command worker.
func NewWorkers(a *console.App, servers *Servers, slots int, memory string, log console.LogFlags, restart bool, flags ...string) (*procs.Supervisor, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	logger, err := log.Logger(a)
	if err != nil {
		return nil, err
	}
	return procs.New(procs.Config{
		Program: program,
		Args:    append([]string{"worker", "--slots", fmt.Sprint(slots), "--memory", memory, "--with-parent"}, slices.Concat(log.Args(), flags)...),
		Env:     servers.Environ(),
		Output:  a.Err,
		Restart: restart,
		Logger:  logger,
	}), nil
}

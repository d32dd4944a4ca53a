package exec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs"
)

// allow returns a permanent error if calls may not run a program.
func allow(g jobs.Grant, name string) error {
	switch {
	case slices.Contains(g.Programs, name), slices.Contains(g.Programs, jobs.AnyProgram):
		return nil
	case len(g.Programs) == 0:
		return jobs.Permanent(fmt.Errorf("program %q: this worker runs no program of a job: in Go, set Grant.Programs of worker.Config or jobs.Local", name))
	}
	return jobs.Permanent(fmt.Errorf("program %q: this worker runs only %s (--exec-programs)", name, strings.Join(g.Programs, ", ")))
}

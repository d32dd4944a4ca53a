//go:build unix

package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// minPlanned is the number of planned injections of a fault from which on at least one injection
// must take place.
const minPlanned = 3

// spillsFrom is the duration of faults from which on at least one partial must have been moved to a
// file, and at least one held partial written to storage.
const spillsFrom = 5 * time.Minute

// report prints the injections of each fault during the given time, and the outcomes of jobs.
func (c *cluster) report(duration time.Duration) {
	b := c.history
	b.mu.Lock()
	fmt.Fprintf(b.out, "\n%-28s %5s %5s  %s\n", "fault", "plan", "done", "to the leader")
	var never []string
	for _, f := range catalog(c.Storage) {
		planned, injected := b.planned[f.name], b.injected[f.name]
		fmt.Fprintf(b.out, "%-28s %5d %5d  %5d\n", f.name, planned, injected, b.leaders[f.name])
		if planned >= minPlanned && injected == 0 {
			never = append(never, f.name)
		}
	}
	states := make(map[store.State]int)
	var executed, repeated uint64
	for _, o := range b.outcomes {
		states[o.State]++
		executed += o.Executed
		repeated += o.Repeated
	}
	fmt.Fprintf(b.out, "\njobs        %s\n", counted(states))
	fmt.Fprintf(b.out, "submitted   %d times without an acknowledgement\n", len(b.unconfirmed))
	fmt.Fprintf(b.out, "partitions  %d executed, %d of them repeated\n", executed, repeated)
	fmt.Fprintf(b.out, "partials    %d moved to files, %d written to storage by their holders\n", b.spilled, b.stored)
	fmt.Fprintf(b.out, "processes   %d started, %d killed, %d made to exit by a job\n", len(b.pids), len(b.deaths)-b.exits, b.exits)
	b.mu.Unlock()
	if duration >= spillsFrom && (b.spilled == 0 || b.stored == 0) {
		b.violation("%d partials were moved to files and %d written to storage, want some of each", b.spilled, b.stored)
	}
	for _, name := range never {
		b.violation("%s was planned and never injected", name)
	}
}

func (c *cluster) reportTakeovers() error {
	var changes []struct{ Cause string }
	if err := c.ask(&changes, "history"); err != nil {
		return err
	}
	causes := make(map[string]int)
	for _, change := range changes {
		causes[change.Cause]++
	}
	c.history.note("takeovers: %s", counted(causes))
	return nil
}

func counted[K ~string](times map[K]int) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(times)) {
		words = append(words, fmt.Sprintf("%d %s", times[name], name))
	}
	return strings.Join(words, ", ")
}

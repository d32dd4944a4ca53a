package term

import (
	"context"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Env is the process around a term. All its methods may be called from tasks.
type Env interface {
	// Now reads a clock whose readings can be compared with one another.
	Now() time.Time

	// Go runs a task beside the loop. A task waits in calls of the store, of
	// [Link.Probe] and of Pause, and takes its time in the jobs' own code. It may
	// begin before Go returns.
	Go(task func())

	// Post has the loop run what a task came to, unless the term is over: after the
	// call of the [Term] that the loop is in, and never within one.
	Post(in func())

	// Pause waits until d has passed or ctx is done.
	Pause(ctx context.Context, d time.Duration)
}

// Link is what the leader says to workers unasked. What is lost costs time only.
type Link interface {
	Beacon(wire.Beacon)
	Nudge(worker string)

	// Probe asks the worker for a sign of life and reports whether its process is
	// certainly dead: silence alone is no proof. A task calls it, so it may block.
	Probe(ctx context.Context, worker string) (dead bool)
}

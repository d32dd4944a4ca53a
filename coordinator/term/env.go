package term

import (
	"context"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Env is the process around a term: its clock, its loop and its goroutines. Tasks may
// call all of its methods.
type Env interface {
	// Now returns the time. Any two results can be compared.
	Now() time.Time

	// Go runs a task beside the loop. A task blocks only in calls of the store, of
	// [Transport.Probe], of Pause and of Guard. It may start before Go returns.
	Go(task func())

	// Guard calls code of a job, and reports whether the code returned within the limit.
	// Otherwise the code may continue in the background, and its effects must not be used.
	// Tasks call Guard.
	Guard(limit time.Duration, code func()) (returned bool)

	// Post queues a call on the loop, unless the term is over. The call runs after the
	// current call of the [Term] has returned, never inside it.
	Post(call func())

	// Pause waits until d has passed or ctx is done.
	Pause(ctx context.Context, d time.Duration)
}

// Transport sends the leader's messages that are not replies. A lost message only causes
// a delay.
type Transport interface {
	Beacon(wire.Beacon)
	Nudge(worker string)

	// Probe asks the worker for a sign of life and reports whether its process is
	// certainly dead: silence alone is no proof. A task calls it, so it may block.
	Probe(ctx context.Context, worker string) (dead bool)
}

package term

import (
	"context"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Env is the process around a term: its clock, its loop and its goroutines. Tasks may call all
// methods of Env.
type Env interface {
	// Now returns the current time. Times from different calls of Now can be compared.
	Now() time.Time

	// Go runs a task outside the loop. A task may block only in calls of the store, of
	// [Transport.Probe], of Pause and of Guard. The task may start before Go returns.
	Go(task func())

	// Guard calls code of a job, and reports whether that code returned within the limit. If Guard
	// returns false, the code may continue in the background, and the caller must not use its
	// results.
	Guard(limit time.Duration, code func()) (returned bool)

	// Post queues a call for the loop, unless the term is over. A posted call runs after the
	// current call of a method of [Term] has returned, never during it.
	Post(call func())

	// Pause waits until d has passed or ctx is done.
	Pause(ctx context.Context, d time.Duration)
}

// Transport sends the leader's messages, except replies to requests. A lost message of the leader
// only causes a delay.
type Transport interface {
	Beacon(wire.Beacon)
	Nudge(worker string)

	// Ended announces that the end of a job is durable.
	Ended(job string)

	// Probe asks the worker for a sign of life. The parameter server is the ID of the NATS server to
	// which the worker was connected, or empty. Only tasks may call Probe, because it may block.
	Probe(ctx context.Context, worker, server string) Sign
}

// Sign is what a probe shows about a worker's process.
type Sign int

const (
	Possible Sign = iota // the process may be alive, even if it does not answer
	Absent               // the process is dead, or is connecting to another NATS server
	Dead                 // the process is dead, or cut off from NATS
)

// Package ledger decides everything that a leader decides: what is done, who has
// what, and what to do next. It is a state machine without a clock, without I/O
// and without goroutines. The shell around it turns what happens into events and
// performs the actions that come back:
//
//	Step(now, Event) []Action
//
// The same events give the same actions, so that a failure can be replayed and
// whole clusters run in a test within milliseconds. The ledger names partials by
// a [Ref] and never sees their bytes; its size follows the workers and what they
// hold, not the number of partitions.
//
// # Where a partition is
//
// Every partition of an active job is in exactly one place:
//
//	                      assigned          reported
//	fresh, retry, suspect ────────▶ held ───────────────▶ finished
//	  ▲      ▲       ▲                │                      ▲
//	  │      │       └── worker died ─┤                      │
//	  │      └────────── failed ──────┤                      │ skipped
//	  └─ given back, cut, silent ─────┴──────────────────────┘
//
// The places are
//
//   - fresh: nobody has it.
//   - held: it is part of a span that was assigned to a worker. Two workers hold a
//     partition that took too long on the first; whichever reports first, the
//     other's report is dropped.
//   - retry: it failed. It is tried again by itself, after a wait, elsewhere if
//     there is another worker. At the limit of attempts it is skipped or the job fails.
//   - suspect: its worker died while it held it. Suspects run again in pieces of an
//     eighth. A single partition that has seen two deaths runs with nothing beside
//     it, on a worker set aside for that; after up to three more it is to blame.
//   - finished: it is covered by a finished node, as part of a partial, or
//     skipped, without one.
//
// A worker may speak of a job that is not here: one that ended, that this leader
// does not know, or that an earlier leader began after this one had listed those
// that are active. The shell is asked, and the worker told to drop what it has
// only if the job has ended.
//
// What a worker says it holds is the truth: each report moves spans on, and what
// it neither finished nor holds any more waits again. A span that this leader did
// not give is adopted as far as nobody else has it.
//
// # A term
//
//	New ─▶ JobAdded for each active job ─▶ settling ─▶ dispatch ─▶ Stopping ─▶ Saved
//
// # Order that is promised
//
//   - Recovered before assigned: nothing is assigned until every worker that a
//     manifest names has said what it holds, or is dead, or Config.RecoveryTimeout is over.
//   - Durable before acknowledged: a receipt calls an item durable only after a
//     [Checkpointed] for a [Checkpoint] that was asked for when it had been taken.
//   - Written ahead: in a job that may have killed a leader, the leader's own
//     worker is told of an assignment only once a checkpoint that names it is
//     durable. If it kills this leader too, the next one knows.
//   - Ended before told: workers are told of a job's end after [JobEnded].
//   - Once: a report that comes again gets the same receipt; a worker's items are
//     taken in the order of their numbers, each one once, whoever leads.
//   - Actions of one step are to be begun in their order. What an action names may
//     be forgotten by a later one: the shell looks up refs when it begins an action.
//
// # Bounds
//
// A worker may come under ever new names, and say what is not true. What that can
// make the ledger keep is bounded:
//
//   - Config.MaxWorkers workers, each with what [wire.Report]'s Validate lets it say
//     of itself and of what it holds. One that falls silent makes room.
//   - The numbers of the items of about 10,000 workers that are gone, each for ten
//     minutes.
//   - For each job, Config.MaxTreeNodes places in the tree above finished nodes,
//     Config.MaxFailing failing partitions and Config.MaxSkipped skipped ones. A job
//     that needs more fails.
//   - Of jobs that are not here: inquiries about 100 at a time, and the last 4,096
//     that are known to have ended. Those that are parked, and how many jobs are
//     active, is up to the shell.
//
// A step allocates in proportion to its event. The most that one report can cost is
// about 100 MB, where each of its items begins a path of its own in the deepest tree.
//
// # What can fail
//
//   - A worker: silence past Config.SilentAfter, or proof by [WorkerDied]. If the
//     proof was wrong, it comes back with a hello and keeps what nobody else has got.
//   - A report or its receipt: the worker repeats the report. A [Nudge] or [Probe]
//     that is lost costs time.
//   - A merge: the job fails, since the same operands would fail again.
//   - A checkpoint never fails here. A leader that cannot write steps down, and its
//     ledger is dropped with it.
//   - The leader: the next one is given the last durable [Snapshot]. What other
//     workers hold or have kept is not run again.
package ledger

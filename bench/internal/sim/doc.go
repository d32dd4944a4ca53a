// Package sim simulates whole clusters and checks after every step that Bellwether keeps its
// promises. One processor core simulates some thousands of clusters per minute.
//
// The ledger, the term around it (coordinator/term), the election machine, the worker's
// session (worker/session), the stored formats and, in some simulations, the wire format
// are real. Time, NATS, storage and the code that drives the real parts are simulated.
//
//	┌─ process ───────────────────────────────┐
//	│ elector ──── machine.Machine            │        ┌──────────┐
//	│ leadership ─ term.Term ── ledger        │──────▶ │ network  │ drops, delays, duplicates
//	│ worker ───── session.Session, slots     │        ├──────────┤
//	│ its own clock                           │──────▶ │ storage  │ lease, blobs, queue
//	└─────────────────────────────────────────┘        └──────────┘
//	   any number; the nemesis kills, stalls and cuts them off     │
//	                                                             checks
//
// A seed decides everything: the number of processes, the behaviour of the jobs, how long each
// message and storage call takes, which faults happen and when. One goroutine runs a simulation,
// and code that waits runs in coroutines, so two runs with the same seed are equal. A broken
// promise can therefore be reproduced with its seed:
//
//	make sim SEED=4711
//
// # Faults
//
// Messages are lost, delayed, duplicated and reordered. Links between two processes fail in one
// direction or in both. NATS replies that a living process does not exist. Connections break.
// Storage refuses calls, is slow, and loses calls or replies. Storage executes a write after its
// writer has died, or executes a client's write after the job was removed. Processes are killed,
// alone or all at once, with or without their host. Processes stop, join, and stall for any time.
// Clocks drift. Workers that hold large partials die, lose a partial because its file cannot be
// read, or run out of memory while the spill folder is full. All partitions fail on one process. Fetches of held partials stop half-way
// or return damaged bytes. Partitions fail, succeed once and fail afterwards, hang and kill their
// process. Jobs are cancelled, and are removed when they have ended. A process with another storage
// joins, and leads on that storage until the simulation ends. A beacon has an epoch that no leader
// has. After some time all faults stop, except for the process with another storage.
//
// # Checks
//
//   - A result contains each partition once, and has the bytes that a single process computes. Each
//     node of each manifest also has the bytes that a single process computes, in the manifest or in
//     its blob.
//   - A worker whose memory is short begins no partition.
//   - If a worker is told that an item is durable, a stored manifest contains the item.
//   - Each new epoch is one higher than the last epoch, and only one process leads under an epoch.
//     A worker that follows a leader's epoch never follows a lower epoch afterwards. A manifest of
//     a lower epoch never replaces a manifest of a higher epoch, and a leader never writes a
//     manifest after a later leader has assigned partitions of the job.
//   - A leader refuses the reports of workers that use another storage than the leader, and a
//     worker ignores the receipts of leaders that use another storage than the worker.
//   - A process whose lease has expired no longer acts as the leader, provided that the error of
//     its clock is within the margin that the election allows.
//   - Durable nodes stay durable. A job that has ended does not change, and no process learns that
//     the job has ended before storage contains this fact. A leader announces the end of a job only
//     after storage contains it. A job whose cancellation was confirmed stays cancelled.
//   - Workers wait between reports, and wait longer after refusals. A worker that is told to stop
//     leaves in time. When a worker leaves before its drain timeout has passed, none of its slots
//     runs and its items are durable.
//   - A worker that is ordered to release a partial drops the partial only if its partitions are
//     durable, or if the partial is not the operand of another worker's merge.
//   - A leader repeats a fetch that has failed twice only if it has ordered the holder of the
//     partial to store it.
//   - Calm simulations have no faults except deaths of processes. In calm simulations no worker
//     computes a partition that another living worker finished, or holds a partial of, since before
//     the current leader's term. A leader assigns no partition of a partial that a living worker
//     has reported to it and still holds. If no process is killed, no partition is executed twice.
//   - In calm simulations a worker is ordered to store a held partial when its loss would cost
//     more than twice Young's interval, also by a new leader, and a leader merges no large
//     partials if a worker can merge them. Manifests contain the time that a partition takes, once
//     a job's first leader has measured it.
//   - In calm simulations a harmless partition is blamed only if workers that ran it alone died at least
//     half as often again as all workers. In some calm simulations processes live about as long as a
//     partition takes.
//   - A worker on which each partition fails gets no partitions for 10 s when eight of them have run on other
//     workers.
//   - A call that does not return until its job is cancelled, 100 s after the last fault, holds up no
//     other job, even if it occupies the only slot.
//   - Within three minutes after the last fault every job has ended as expected, all workers have
//     closed the job, the queue is empty, and the job's index entry and partials are removed from
//     storage. Nothing is left of a removed job, and the job does not start again.
//
// # Tests of the checks
//
// TestDefectsAreCaught plants defects in the real code, one at a time, and requires that the
// simulator finds each defect within a given number of seeds. TestSeedsKeepThePromises fails if an
// expected event does not happen in some thousands of seeds. A simulation tests nothing about
// faults that never happen.
//
// # Kept partials
//
// Some simulated jobs reuse nodes that the worker that plans them has found. Package kept runs on goroutines, so
// TestKeptPartials simulates it apart from the clusters: storage loses calls and answers, executes writes late and
// twice and damages bytes, packs are dropped, and two jobs run at once. Each result must be that of a run without
// kept partials, no job may fail, and after an insertion only the inserted partition is computed.
//
// # Limits
//
// Goroutines, sockets, the storage drivers and their SDKs are not simulated. The tests of their
// packages, and bench/internal/chaos, test the code that is not simulated with real processes. Jobs
// have at most some dozens of partitions.
package sim

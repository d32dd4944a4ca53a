// Package sim simulates whole clusters, some thousands of them a minute on each core,
// and checks after every step that Bellwether keeps its promises.
//
// The ledger, the term around it (coordinator/term), the election machine, the worker's
// session (worker/session), the stored formats and, in some simulations, the wire format
// are real. Time, NATS, storage and the code that drives the real parts are simulated.
//
//	┌─ process ───────────────────────────────┐
//	│ elector ──── election.Machine           │        ┌──────────┐
//	│ leadership ─ term.Term ── ledger        │──────▶ │ network  │ drops, delays, duplicates
//	│ worker ───── session.Session, slots     │        ├──────────┤
//	│ its own clock                           │──────▶ │ storage  │ lease, blobs, queue
//	└─────────────────────────────────────────┘        └──────────┘
//	   any number; the nemesis kills, stalls and cuts them off     │
//	                                                             checks
//
// A seed decides everything: the number of processes, the behaviour of the jobs, how
// long each message and storage call takes, which faults happen and when. One goroutine
// runs a simulation; code that waits runs in coroutines. Thus a seed that breaks a promise
// breaks the promise in every run:
//
//	go run ./bench/sim/run -seed 4711
//
// # Faults
//
// Messages are lost, delayed, duplicated and reordered. Processes cannot reach one
// another, in one direction or both, or NATS reports no responders although they live.
// Connections break. Storage refuses calls, is slow, loses calls or replies, and lets a
// write succeed after its writer has died, or a client's write after the job was removed. Processes are killed, alone or all at once, with
// or without their host. Processes stop, join, and stall for any time. Clocks drift.
// Workers hold large partials; fetches of them stop half-way or bring damaged bytes, holders die,
// and lose partials whose files cannot be read.
// Partitions fail, hang and kill their process. Jobs are cancelled, and are removed once
// the jobs have ended. A process joins with another storage than its fleet's and leads
// there, until the end. A beacon has an epoch that no leader has. After a while all other
// faults stop.
//
// # Checks
//
//   - A result contains each partition once, and has the bytes that a single process
//     computes. The same holds for each node of each manifest.
//   - If a worker is told that an item is durable, a stored manifest contains the item.
//   - Epochs grow by one, and each is led once. No worker returns from a leader's epoch to a
//     lower one. No manifest of a lower epoch replaces one of a higher epoch, or is written
//     once a later leader has assigned the job's partitions.
//   - No leader takes a report of a worker on another storage, and no worker takes a receipt
//     of a leader on another storage.
//   - No process acts as a leader after its lease has expired, if its clock runs within the
//     margin.
//   - Durable nodes stay durable. A job's end is final, and no process learns of the end
//     before the end is durable. A confirmed cancellation holds.
//   - Workers wait between reports, and wait longer after refusals. A worker that
//     is told to stop leaves in time; when it leaves, no slot runs and its items are
//     durable, unless its drain timeout has passed.
//   - In calm simulations, where processes die and nothing else goes wrong, no worker
//     computes a partition that a living worker had finished before its leader began, or of
//     which it holds a node since. If no
//     process is killed, no partition is executed twice.
//   - Within three minutes after the last fault every job has ended as expected, and
//     queue, index and partials are cleaned up. Nothing is left of a removed job, and the job
//     does not start again.
//
// # Tests of the checks
//
// TestDefectsAreCaught builds the simulator with each of a list of planted defects in
// the real parts, and requires that each defect is found within a number of seeds.
// [Report.Missing] lists expected events that did not happen in some thousands of seeds,
// because a fault that never happens tests nothing.
//
// # Limits
//
// Goroutines, sockets, the storage drivers and their SDKs are not simulated. The tests of
// their packages and bench/chaos test this code with real processes. Jobs have at
// most some dozens of partitions.
package sim

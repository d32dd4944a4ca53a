// Package sim simulates whole clusters, some thousands of them in a minute on each
// core, and looks after every step whether Bellwether keeps its promises.
//
// What is real: the ledger, the term around it (coordinator/term), the election
// (election.Machine), the worker's bookkeeping (worker/session), the stored formats
// and, in some simulations, those of the wire. What is simulated: time, NATS,
// storage, and the shells that join these to the real parts.
//
//	┌─ process ─────────────────────────────┐
//	│ candidate ── election.Machine         │        ┌──────────┐
//	│    term ──── reign.Reign ── ledger    │──────▶ │ network  │ lost, late, twice, parted
//	│    worker ── book.Book, slots         │        ├──────────┤
//	│ a clock of its own                    │──────▶ │ storage  │ lease, blobs, queue
//	└───────────────────────────────────────┘        └──────────┘
//	      any number, each may be killed, stalled, cut off         │
//	                                                             checks
//
// A seed decides all: how many processes there are and what their jobs do, how
// long each message and each call of storage takes, what goes wrong and when. One
// goroutine runs a simulation; straight-line code that waits is a coroutine. So a
// seed that breaks a promise breaks it again:
//
//	go run ./bench/sim/run -seed 4711
//
// # What goes wrong
//
// Messages are lost, delayed, doubled and overtake one another; processes cannot
// hear one another, in one direction or both, or NATS believes that nobody is
// there; connections break. Storage refuses, is slow, loses calls or answers, and
// lets a write land when its writer is dead. Processes are killed, alone or all at
// once, with their host or without, stop, join, and stand still for any time.
// Clocks differ. Partitions fail, hang and kill. Jobs are cancelled, and removed
// once they have ended. After a while all that stops.
//
// # What is checked
//
//   - A result has each partition once, and the bytes that one process makes.
//     So has each node of each manifest.
//   - What a worker is told is durable is in a manifest that storage has.
//   - Epochs grow by one; each is led once; no worker turns back. No manifest of a
//     lower epoch follows one of a higher, nor is any written once a later leader
//     has given out the job's partitions.
//   - Nobody acts as a leader after its lease has expired, by its own clock that
//     runs within the margin.
//   - What was durable stays so. An end is final, and nobody is told of it before
//     it is. A cancel that was confirmed holds.
//   - In calm simulations, where processes die and nothing else goes wrong, nobody
//     computes what a living worker had finished before its leader began.
//     Where none is killed but told to stop, no partition is executed twice.
//   - Within three minutes of the last fault every job has come to the right end,
//     and queue, index and partials are tidied up. Of one that was removed nothing
//     is left, and it does not begin again.
//
// # How it is checked
//
// TestDefectsAreCaught builds the simulator anew with each of a list of deliberate
// mistakes in the real parts, and demands that it finds each within a number of
// seeds. [Report.Missing] names what should have happened under some thousands of
// seeds and did not: a fault that never hits proves nothing.
//
// # What it leaves out
//
// The shells: goroutines, sockets, the drivers of storage and their SDKs, which
// the packages' own tests and bench/chaos try with real processes. Jobs of more
// than some dozens of partitions.
package sim

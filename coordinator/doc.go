// Package coordinator is the leader. It has three layers, and each can be read and
// tested without the layers around it:
//
//	 NATS          coordinator              term                   ledger
//	        ┌───────────────────────┬──────────────────────┬──────────────────────┐
//	reports │ decode, check,        │ tables of jobs and   │ who has what, what   │
//	──────▶ │ one loop, its clock,  │ partials; fencing,   │ is done, what to do  │
//	◀────── │ goroutines for tasks  │ checkpoints, ends    │ next                 │
//	receipts└───────────────────────┴──────────────────────┴──────────────────────┘
//	         may block                never blocks; tasks     knows no storage,
//	                                  beside it may           no task, no time
//	                                        │
//	                                     storage, jobs' own code
//
// This package is the process around a term. It listens, decodes and refuses messages
// beside the loop; the loop calls the term, one call at a time. See package term for the
// states of a job, and for what can fail at each step and why that is safe. Package
// ledger describes the places in which a partition can be.
//
// The loop never blocks: merges of users' values, storage calls and planning run in tasks
// beside the loop, and their outcomes return to the loop. So an answered ping proves that
// the whole leader makes progress, and each turn is a beat without which the lease is not
// renewed. Before and after each call the loop checks by the clock whether the leadership
// is over, so a process that slept notices before it does anything.
//
// A term has these steps:
//
//  1. Listen on the subjects of the epoch, and send a beacon. Workers begin to
//     report; their reports wait.
//  2. Fence, then read: each active job's manifest is rewritten with the epoch by
//     compare-and-swap. From then on no write of an earlier leader succeeds.
//  3. Give the jobs to a new ledger, which recovers: it hears what workers hold
//     before it assigns what no worker holds.
//  4. Dispatch, merge, checkpoint. What workers reported is called durable only
//     after storage has acknowledged a manifest that contains it.
//  5. End a job: result, then the manifest that names its digest, then the index and the
//     submission. The next leader completes the steps that were not done.
//
// # Why two leaders do no harm
//
// A leader that was replaced and has not noticed may still be at any step. Everything
// that it can write is safe even if it is written late:
//
//   - Manifests replace one another by compare-and-swap. Up to the fence only the
//     old leader writes one, from the fence on only the new one. Within a leader,
//     one task at a time writes the manifest of a job, so a manifest with its epoch and
//     the next sequence number is its own write, whose answer was lost.
//   - A plan and a result are written once. If another leader wrote it first, the two are
//     equal or the first one is used.
//   - It removes partials, the index entry and the submission only after a final
//     manifest, which is never replaced. It removes single partials only after a
//     durable manifest that does not name them.
//   - If it writes an index entry late, the job's submission is still in the queue,
//     hidden for a while.
//
// So the old leader may begin a job after the new leader has listed the active jobs. Then
// only the old leader works on that job. The new leader fences the job as soon as a
// worker reports it, or its submission is delivered again. A worker is told to drop what
// it holds of a job only if the job has ended. A job that this leader does not know, or
// cannot read, is parked for the next leader.
//
// # What storage holds
//
// Most blobs of partials that no durable manifest and no live node names are removed
// while the job runs, and all of them at its end. After that a blob can remain only if it
// was being written when the job ended: by a worker that died at that moment, or by a
// leader that had been replaced.
//
// # What can fail
//
//   - The process dies: workers keep what no checkpoint has, and report it to the next
//     leader.
//   - An answer of storage is lost: the write is repeated, its condition fails,
//     and what is read back shows whether it was this leader's own write.
//   - Storage is unavailable: calls are repeated until it answers or the term is over;
//     workers go on with what they hold.
//   - Another leader has written a manifest: the term is over at once.
//   - A job's code fails: that ends the job, or costs an attempt, but never the leader.
//     Code that never returns keeps its place among the leader's tasks. Other jobs go
//     on, but the process cannot end its term and so cannot lead again.
//   - A job's spec, plan or manifest is damaged: the job waits, and the other jobs
//     continue. A partial is damaged: the job fails.
//   - NATS is back after an outage: workers that have not reconnected yet do not count
//     as dead.
//   - A message is malformed: it is refused and logged, and has no effect.
package coordinator

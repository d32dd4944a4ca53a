// Package coordinator is what the leader does. It is three layers, each of which
// can be read and tested without the one around it:
//
//	 NATS          coordinator              reign                  ledger
//	        ┌───────────────────────┬──────────────────────┬──────────────────────┐
//	reports │ decode, check,        │ tables of jobs and   │ who has what, what   │
//	──────▶ │ one loop, its clock,  │ partials; fencing,   │ is done, what to do  │
//	◀────── │ goroutines for tasks  │ checkpoints, ends    │ next                 │
//	receipts└───────────────────────┴──────────────────────┴──────────────────────┘
//	         may wait                 never waits; tasks     knows no storage,
//	                                  beside it do           no task, no time
//	                                        │
//	                                     storage, jobs' own code
//
// This package is the process around a term: it listens, decodes and refuses
// beside the loop; the loop takes one thing after the other to the reign. See
// package term for the states of a job, and for what can fail at each step and
// why that is safe, and package ledger for where each partition is.
//
// The loop never waits: merges of users' values, storage and planning happen
// beside it and come back to it. So a ping that it answers proves that the leader
// as a whole turns, and each turn is a beat without which the lease is not renewed.
// Before each turn, and after it, the loop looks whether the leadership is over by
// the clock: a process that slept finds that out before it does anything.
//
// A term goes:
//
//  1. Listen on the subjects of the epoch, and send a beacon. Workers begin to
//     report; their reports wait.
//  2. Fence, then read: each active job's manifest is rewritten with the epoch by
//     compare-and-swap. From then on no write of an earlier leader succeeds.
//  3. Give the jobs to a new ledger, which settles: it hears what workers hold
//     before it assigns what nobody does.
//  4. Dispatch, merge, checkpoint. What workers reported is called durable only
//     after storage has acknowledged a manifest that contains it.
//  5. End a job: result, then the manifest that names its digest, then the index
//     and the submission. Whatever is left undone there the next leader does.
//
// # Why two leaders do no harm
//
// A leader that was replaced and has not noticed may still be at any step. All it
// can write is safe to be written late:
//
//   - Manifests replace one another by compare-and-swap. Up to the fence only the
//     old leader writes one, from the fence on only the new one. Within a leader,
//     one thing at a time writes that of a job, so a manifest of its epoch and next
//     sequence number is its own write, whose answer was lost.
//   - A plan and a result are kept once. Another leader's is the same, or goes before.
//   - What it removes (partials, the index entry, the submission) it removes only
//     after a final manifest, which nobody replaces; and single partials only
//     after a durable manifest that has done without them.
//   - An index entry that comes late belongs to a job whose submission is still in
//     the queue, hidden for a while.
//
// So the old leader may begin a job after the new one has listed those that are
// active, and goes on with it alone. The new one fences it as soon as a worker
// speaks of it, or its submission is delivered again. A worker is told to drop
// what it holds of a job only if that has ended: one that this leader does not
// know, or cannot read, is set aside for the next.
//
// # What storage holds
//
// Of the partials beside the manifest, those that no durable manifest and no live
// node names are removed as the job goes on, with few exceptions, and all at its
// end. What can stay after that is a partial that was on its way when the job
// ended: of a worker that died just then, or of a leader that had been replaced.
//
// # What can fail
//
//   - The process dies: workers keep what no checkpoint has, and tell the next leader.
//   - An answer of storage is lost: the write is tried again, its condition fails,
//     and what is read back tells whether it was this leader's own.
//   - Storage is out of reach: calls are tried until it is back or the term is over;
//     workers go on with what they hold.
//   - Another leader has written a manifest: the term is over, at once.
//   - A job's code fails: that is the job's end, or an attempt less, and never the
//     leader's. Code that does not return at all keeps its part of the leader: the
//     others go on, but the process cannot lead again.
//   - A job's spec, plan or manifest is damaged: the job waits, the others go on. A
//     partial is damaged: the job fails.
//   - NATS comes back after an outage: workers that are not connected yet are not
//     taken for dead.
//   - A message makes no sense: it is refused and logged, and nothing follows from it.
package coordinator

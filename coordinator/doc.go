// Package coordinator is the leader. The leader has three layers, and each layer can be read and
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
//	                                     storage, jobs' merges
//
// This package is the process around a term. This package receives, decodes and validates messages outside the
// loop. The loop calls the term, one call at a time. See package term for the states of a job, and for what can
// fail at each step and why that is safe. Package ledger describes the states of a partition.
//
// The loop never blocks: merges of users' values and storage calls run in tasks on other
// goroutines, and pass their outcomes to the loop. So an answer to a ping proves that the whole
// leader makes progress. The lease is renewed only while the loop runs. Before and after each call
// the loop checks the clock to see whether the leadership is over, so a process that was suspended
// notices the end of its leadership before it acts.
//
// A term has these steps:
//
//  1. Listen on the subjects of the epoch, and send a beacon. Workers begin to report;
//     their reports are queued.
//  2. Fence, then read: by compare-and-swap, rewrite each active job's manifest with the epoch.
//     From then on no write of an earlier leader succeeds.
//  3. Pass the jobs to a new ledger. Before the ledger assigns work, it learns from reports which
//     work the workers already hold.
//  4. Dispatch, merge, checkpoint. Workers are assigned spans of partitions and calls of the jobs'
//     Plan, Merge and Finish. The leader tells a worker that an item is durable only after storage
//     has acknowledged a manifest that contains the item.
//  5. End a job: write the result, then the manifest that names the result's digest, then
//     remove the index entry and the submission. If this leader dies in between, the next
//     leader completes the remaining steps.
//
// # Why two leaders do no harm
//
// A leader that was replaced but has not noticed may be at any of these steps. Each of its writes is safe, even
// if the write takes effect late:
//
//   - Manifests are replaced only by compare-and-swap. Before the fence only the old leader can
//     write a job's manifest, and after the fence only the new leader. Within a leader, only one
//     task at a time writes the manifest of a job. So if a leader finds a manifest with its own
//     epoch and the next sequence number, the leader wrote that manifest and the reply was lost.
//   - A plan and a result are written only once. If two leaders write a plan or a result for the same job, the
//     bytes are equal, or the first one is used.
//   - A leader removes all partials, the index entry and the submission only after a
//     final manifest, which is never replaced. A leader removes single partials only
//     after a durable manifest that does not name them.
//   - If a leader writes an index entry late, the job's submission is still in the queue, hidden for some time.
//     So a later leader receives the submission.
//
// The old leader may begin a job after the new leader has listed the active jobs. In this case only the old
// leader works on that job. The new leader fences the job as soon as a worker reports the job, or the job's
// submission is delivered again. A worker is told to drop a job's items and spans only if the job has ended. If
// no worker knows a job's definition, the job waits for a worker that does. If this leader cannot read a job,
// the job waits for the next leader.
//
// # What storage holds
//
// While a job runs, the leader removes most blobs of partials that are named neither by a durable manifest nor
// by a node that is still needed. At the job's end the leader removes all blobs of the job's partials. A blob
// remains after the job's end only if it was being written when the job ended, by a worker that died at that
// moment or by a leader that had been replaced.
//
// # What can fail
//
//   - The process dies: workers keep the items that no checkpoint contains, and report
//     them to the next leader.
//   - A reply from storage is lost: the write is repeated, its condition fails, and the
//     manifest read back shows whether this leader wrote it.
//   - Storage is unavailable: calls are repeated until storage replies or the term is over. Workers
//     continue with the spans that they hold.
//   - Another leader has written a manifest: the term is over at once.
//   - A job's code fails: the failure ends the job or counts as an attempt, but never stops the leader. The
//     only function of a job that the leader calls is Merge, for at most one second. If Merge takes longer,
//     workers do the job's merges. The goroutine of the merge continues to run, because a goroutine cannot be
//     stopped.
//   - A job's code kills the leader's process: either the leader was merging, or the worker in the
//     same process was running an assignment. So for 10 s the next leader leaves merges to workers,
//     and package ledger counts the death against the worker's assignments.
//   - A job's spec, plan or manifest is damaged: the job waits, and the other jobs
//     continue. A partial is damaged: the job fails.
//   - NATS is available again after an outage: workers that have not reconnected yet do not count
//     as dead.
//   - A message is malformed: the message is refused and logged, and has no effect.
package coordinator

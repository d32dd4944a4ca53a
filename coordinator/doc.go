// Package coordinator implements the leader. The leader has three layers, and each layer can be
// read and tested without the layers around it:
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
// Package coordinator is the process around a term. Package coordinator receives, decodes and
// validates messages outside the loop. The loop calls the term, one call at a time. Package term
// describes the states of a job, what can fail at each step, and why each failure is safe. Package
// ledger describes the states of a partition.
//
// The loop never blocks: merges of users' values and storage calls run in tasks on other
// goroutines, and pass their outcomes to the loop. An answer to a ping therefore proves that the
// whole leader makes progress. The lease is renewed only while the loop runs. Before and after each
// call the loop checks whether the leadership is over, so a process that was suspended notices the
// end of its leadership before it acts.
//
// A term consists of the following steps:
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
//  6. Hand over, when the term is told to stop, or as soon as the worker in the leader's process drains
//     and another worker can lead: write a last checkpoint of each job, and name a successor.
//
// # Why two leaders do no harm
//
// A leader that was replaced but has not noticed its replacement may be at any of the steps above.
// Each write of a replaced leader is safe, even if the write takes effect late:
//
//   - Manifests are replaced only by compare-and-swap. Before the fence only the old leader can
//     write a job's manifest, and after the fence only the new leader. Within a leader, only one
//     task at a time writes the manifest of a job. If a leader finds a manifest with its own epoch
//     and the next sequence number, the leader wrote that manifest and the reply was lost.
//   - A plan and a result are written only once. If two leaders write a plan or a result for the
//     same job, the bytes are equal, or the first write is used.
//   - A leader removes a job's partials, index entry and submission only after a final manifest,
//     which is never replaced. A leader removes a single partial only after a durable manifest that
//     does not name the partial.
//   - If a leader writes an index entry late, the job's submission is still hidden in the queue,
//     and a later leader receives it.
//
// A replaced leader may begin a job after the new leader has listed the active jobs. Only the
// replaced leader then works on that job. The new leader fences the job as soon as a worker reports
// the job or the queue delivers the job's submission again. A worker drops a job's items and spans
// only if the job has ended. If no worker knows a job's definition, the job waits for a worker that
// knows it. If this leader cannot read a job, the job waits for the next leader.
//
// # What storage holds
//
// While a job runs, the leader deletes most blobs of partials that are no longer needed. At the
// job's end the leader removes all blobs of the job's partials, except those that the final manifest
// of a failed job names, so that another job can continue from them. Any other blob remains after the job's end
// only if it was being written when the job ended, by a worker that died at that moment or by a
// leader that was replaced.
//
// # What can fail
//
//   - The process dies: workers keep the items that no checkpoint contains, and report
//     them to the next leader.
//   - A reply from storage is lost: the write is repeated, its condition fails, and the stored
//     manifest shows whether this leader wrote it.
//   - Storage is unavailable: calls are retried until storage replies or the term is over. Workers
//     continue with the spans that they hold while storage is unavailable.
//   - Another leader has written a manifest: the term is over at once.
//   - A job's code fails: the failure ends the job or counts as an attempt, but never stops the
//     leader. The leader calls only the function Merge of a job, for at most one second. If a call
//     of Merge takes longer, workers do the job's merges. The goroutine of a slow merge continues
//     to run, because a goroutine cannot be stopped.
//   - A job's code kills the leader's process: the cause is a merge in the leader, or an assignment
//     of the worker in the same process. For 10 s the next leader therefore leaves merges to
//     workers, and package ledger counts the death against the worker's assignments.
//   - A job's spec, plan or manifest is damaged: the job waits, and the other jobs
//     continue. A partial is damaged: the job fails.
//   - A worker's process dies: the leader probes a worker whose report is late. If NATS finds no
//     subscriber, the process is dead or is connecting to another NATS server, so a second probe
//     confirms the death. The second probe is omitted if both connections of the process have ended
//     and the process was connected to the leader's own NATS server.
//   - NATS is available again after an outage: workers that have not reconnected yet do not count
//     as dead.
//   - A message is malformed: the message is refused and logged, and has no effect.
package coordinator

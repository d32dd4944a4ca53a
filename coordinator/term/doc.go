// Package term is one term of a leader. The package is the layer between the ledger, which makes
// the decisions, and the process, which has a clock, a network and a scheduler. Only package
// coordinator and the simulator use it.
//
//	             calls, one at a time            events
//	package ───────────────────────────▶ Term  ─────────▶ ledger
//	coordinator ◀──── receipts, answers    │  ◀──actions──
//	             ◀──── beacons, nudges     │
//	                                       │ Go          ▲ Post
//	                                       ▼             │
//	                                     tasks: storage, jobs' merges
//
// The package has no goroutine, reads no clock, opens no socket and never blocks; a test of the
// package's imports proves this. The package uses the process only through [Env] and [Transport].
// The process calls the methods of [Term] on one loop, and none of them blocks. Slow work is a
// task. A task is code outside the loop that starts no goroutines and blocks only in calls of the
// store, of Env and of Transport. So the same code can lead in a real process and in a simulation,
// in which only one thing happens at a time and a seed decides what happens next.
//
// # Who owns what
//
// All mutable state belongs to the loop: the ledger, the table of partials, the jobs and their manifests. A
// task gets values as arguments. Apart from its arguments, it uses only immutable values (the configuration,
// the leadership, a job's spec and code). A task returns its outcome as a function, which the loop calls. There
// is one exception: a task that writes partials checks whether its job is ending, and then stops writing.
//
// When a term is over, the outcomes of its tasks are dropped. For the loop, a lost task is therefore the same
// as a task that has not returned, no matter what the task has written to storage.
//
// # The states of a job
//
//	        submission          first manifest        active
//	queue ─────────────▶ pending ─────────────▶ unplanned ─▶ planned ──EndJob──▶ ending ──▶ ended
//	                      ▲  │  ▲                   ▲  StorePlan  ▲  checkpoints       │
//	   a worker reports   │  │  │                   │             │                    ▼
//	   it (LookUpJob) ────┤  │  │                   └──────┬──────┘      clean up: partials,
//	                      │  │  │                          │               index, submission
//	                      │  │  └─ a worker that knows     └── fence, if the job was active
//	                      │  │     the kind says hello         when the term began
//	                      │  ├─ no worker knows its kind, or it is damaged: parked
//	                      │  └─ it has ended: clean up
//	                      └─ a parked job's submission is delivered again
//
// The states of a job are:
//
//   - pending: one task may write the job's manifest, to begin or to resume the job. If the job is cancelled in
//     this state, a second task may write the manifest. Each task writes on the condition that the manifest has
//     not changed since the task read it. So one of the two writes fails, and the task of that write then finds
//     the other task's manifest. If there are too many active jobs, a pending job waits, without a task (see
//     waiting.go).
//   - active: unplanned at first, and planned when the plan that a worker has computed is durable. The loop
//     knows the manifest that was written last. Only one write of the manifest is in flight at a time, and each
//     is conditional on the previous write. The ledger requests one checkpoint of a job at a time, but a job
//     may end while a checkpoint is in flight. The job's final write then waits for the write of that
//     checkpoint. If the job's end is decided before the write of the checkpoint begins, the checkpoint is
//     abandoned and does not become durable. The plan is written in the same sequence of writes, so no plan is
//     written after the final manifest.
//   - ending: no more partials are written into blobs. Results of the job's code that arrive later are dropped.
//   - ended: the final manifest is durable. When no task is writing a blob of the job any more, the
//     leader removes first all blobs of the job, then the index entry, and then the submission. If
//     the process dies during this clean-up, the next leader finds the remaining entries and
//     continues the clean-up.
//   - parked: this leader cannot work on the job, and the job does not count as an active job. If the reason is
//     that no worker knows the job's definition, the job is admitted when a worker that knows the definition
//     sends a hello, or when the submission is delivered while there is such a worker. A damaged job is loaded
//     again when its submission is delivered, and by the next leader.
//
// Large partials stay with workers. The leader has the bytes of small partials, and the names of
// blobs. For a partial that a worker holds, the leader knows only the node, the size and the
// checksum.
//
// The leader does not need the definition of a job, because workers can plan, merge and finish. If the leader
// has the definition, it merges in its own process, and each merge has a time limit (see merge.go). A leader
// that resumes a job does not run any of the job's code before the ledger requests a merge.
//
// Submissions are received only when the ledger's recovery is over. Before the end of the recovery
// the leader does not know its workers, and would park every job.
//
// The code that moves a submission through these states, up to active, is in load.go; the
// code for jobs that are missing in storage is in gone.go.
//
// # What can fail, step by step
//
// At each step the process may die, or the term may end. The table also applies to storage calls that take
// effect after the process has died or the term has ended.
//
//	step                what may be left         why that is safe
//	──────────────────  ───────────────────────  ─────────────────────────────────────────
//	list, fence         some manifests have the  a fence changes only the leader that the
//	                    epoch, others not        job belongs to; the next leader fences all
//	receive             the submission, hidden   it is delivered again
//	wait                the submission, hidden   it is delivered again; from the second time on
//	                                             the job has a manifest, and so is not poison
//	enter in the index  an entry without a       its submission is not deleted; it is
//	                    manifest                 delivered again, and the job is begun
//	first manifest      a job that runs without  the next leader resumes it; if that leader
//	                    a leader                 listed the jobs before, a worker's report
//	                                             or the submission brings the job to it
//	store the plan      a plan that no manifest  a plan is written once: every later leader
//	                    counts yet               that resumes the job reads it
//	write a partial     a blob that nothing      it is removed at the job's end: a job that
//	                    names                    was resumed is assumed to have blobs
//	checkpoint          the old manifest or the  nothing was called durable yet; workers
//	                    new one                  have kept what the old one lacks
//	delete a blob       more blobs than needed   no later checkpoint names them
//	merge               nothing                  the next leader has workers merge for 10 s,
//	                                             since the merge may have killed this one
//	write the result    a result without a       the next leader assigns Finish again, gets the
//	                    final manifest           same bytes and finds them there
//	final manifest      index, submission,       the leader that resumes or receives the job
//	                    partials                 reads that it has ended, and cleans up
//	cancel              as for a checkpoint      the sender got no answer, and repeats the
//	                                             request
//	extend              a submission that is     the leader finds its job pending, active or
//	                    delivered again          ended
//
// # Removed jobs
//
// A client removes a job that has ended: it deletes the spec before the manifest. A leader that
// does not know of the removal must not begin the job again. After a removal there may still be
// submissions in the queue, and delayed writes may take effect: the spec, written by the client
// that submitted the job, and the index entry, the plan and the first manifest, written by leaders.
//
// A submission contains the version of the spec, which is written before the submission is sent.
// Drivers never reuse a version, and a spec is never replaced. So if storage contains a spec with
// the submission's version, no removal has deleted the spec yet. The rules are:
//
//   - A job without a manifest is begun only because of a submission, and only if its spec has the
//     submission's version. If the version differs, the submission is dropped. An index entry is no
//     reason to begin a job, because the entry has no version.
//   - After the write of a first manifest, the spec is read again. If the spec still has the same version as
//     before the write, a possible removal has not reached the manifest yet and will delete it. If the spec has
//     changed, the leader deletes its manifest and plan. The manifest contains the spec's version, so that
//     another leader can do the same if the writer dies before that, or if the write takes effect later.
//
// The following table shows that the rules work for each order of events:
//
//	a write of the spec is delayed     until before the removal: its condition fails, since
//	                                   the spec exists, or the client reads its version
//	                                   until after: its version is a new one, and no
//	                                   submission names that version
//	the submission is delivered twice  the second delivery finds the job active or ended,
//	                                   no spec, or a spec of another version
//	the submission precedes the spec   impossible: a submission names a spec that the client
//	                                   knows to be stored
//	it was on the poison list          its body was kept, with the version
//	an older program submitted it      it names no version, and the job is begun as long as
//	                                   there is a spec
//
// A spec that was stored again after a removal remains as a queued job that no leader begins, until
// a user cancels and removes the job. A leader never deletes a spec, because the job may have been
// submitted again.
//
// A single read that finds nothing is no proof: a job counts as removed only if it is missing again
// after the time goneAfter. Before the second read the leader deletes only its own first manifest
// and plan, and keeps the submission, with which the job could begin again. A manifest contains the
// digest of the job's spec. If the spec of a job that has begun was deleted or replaced although
// the job was not removed, the job is parked and its records are kept.
//
// # Replies from storage
//
//   - Storage is unavailable: the call is repeated until the term is over. Only steps that depend on the call
//     have to wait.
//   - The condition of a write does not hold: the task reads the stored manifest. If the manifest
//     has this leader's epoch and the expected sequence number, this leader wrote the manifest and
//     the reply was lost. If the manifest has a higher epoch, the term is over, and the task tells
//     the loop. No other manifest is possible; if there is one, the leader steps down.
//   - A write that the leader has given up takes effect later: if there was another write in between, the
//     condition of the late write fails. If there was no other write, the late write is treated like any other
//     write of this leader.
//   - The manifest of a job that a worker reports is not found: the job was removed, or the storage was
//     replaced while this process ran. If the storage still has the identity that it had when the process
//     started, the worker is told that the job has ended. If the identity has changed, the leader steps down.
//   - Not found, or damaged: if a spec, plan or manifest is damaged, the job is parked. If a
//     partial is damaged, the job fails, because no leader could finish the job without the
//     partial. The job also fails if the blob of a plan or a result is damaged, or if it is too
//     large for storage. The leader continues with the other jobs.
//   - Storage returns any other error: this process cannot lead. The leader steps down, so that another process
//     can try to lead.
package term

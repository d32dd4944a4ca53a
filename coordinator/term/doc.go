// Package term implements one term of a leader. The package is the layer between the ledger, which
// makes the decisions, and the process, which has a clock, a network and goroutines. Only package
// coordinator and the simulator use package term.
//
//	             calls, one at a time            events
//	package ───────────────────────────▶ Term  ─────────▶ ledger
//	coordinator ◀──── receipts, answers    │  ◀──actions──
//	             ◀──── beacons, nudges,    │
//	                   ends of jobs        │
//	                                       │ Go          ▲ Post
//	                                       ▼             │
//	                                     tasks: storage, jobs' merges
//
// Package term has no goroutine, reads no clock, opens no socket and never blocks; a test of its
// imports proves this. The package uses the process only through [Env] and [Transport]. The process
// calls the methods of [Term] on one loop; no method blocks. Slow work runs in tasks. A task is
// code outside the loop that starts no goroutines and blocks only in calls of the store, of Env and
// of Transport. The same code can therefore lead in a real process and in a simulation, where a
// seed decides what happens next.
//
// # Who owns what
//
// All mutable state belongs to the loop: the ledger, the table of partials, the jobs and their
// manifests. A task gets values as arguments. A task otherwise uses only immutable values: the
// configuration, the leadership, a job's spec and code. A task returns its outcome as a function,
// which the loop calls. As an exception, a task that writes partials checks whether its job is
// ending, and then stops writing.
//
// When a term is over, the outcomes of its tasks are dropped. The loop treats a lost task like a
// task that has not returned, no matter what the task has written to storage.
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
//   - pending: one task may write the job's manifest, to begin or to resume the job. If a pending
//     job is cancelled, a second task may write the manifest. Each task writes the manifest only if
//     it has not changed since the task read it. If two tasks write, one write therefore fails, and
//     its task then finds the other task's manifest. If there are too many active jobs, a pending
//     job waits without a task (see waiting.go).
//   - active: the job is unplanned at first, and planned when the plan that a worker has computed
//     is durable. The loop knows the manifest of an active job that was written last. Only one
//     write of a job's manifest is in flight at a time, and each write is conditional on the
//     previous one. A checkpoint writes the job's large partials into blobs, up to 32 in parallel, and
//     then the manifest that names the blobs. The ledger requests one checkpoint of a job at a time,
//     but a job may end while a checkpoint is in flight. The job's final write waits for the
//     checkpoint's write of the manifest. A checkpoint is abandoned if the job's end is decided before
//     that write begins. The plan is written in the same sequence of writes, so no plan is written after the
//     final manifest.
//     The end of a round (see rounds.go) is such a write too. It replaces the active job by the same job in its
//     next round, which keeps plan, submission, cancellations and manifest.
//   - ending: no more partials of the job are written into blobs. Results of an ending job's code
//     are dropped.
//   - ended: the job's final manifest is durable. When no task is writing a blob of an ended job,
//     the leader removes first the blobs of the job, then the index entry, and then the submission.
//     The blobs that the final manifest names are kept until the job is removed, for a job that retries it (see
//     inherit.go): those of a failed job, and those of a completed job that has skipped partitions.
//     If the process dies during the clean-up of an ended job, the next leader continues the
//     clean-up.
//   - parked: this leader cannot work on the job, and the job does not count as active. A job whose
//     definition no worker knows is admitted when a worker that knows the definition says hello, or
//     when the submission is delivered while there is such a worker. A damaged job is loaded again
//     when its submission is delivered, and by the next leader.
//
// Large partials stay with workers. The leader has the bytes of small partials, and the names of
// blobs. Of a partial that a worker holds, the leader knows only the node, the size and the
// checksum.
//
// The leader does not need the definition of a job, because workers can plan, merge and finish. A
// leader that has the definition merges in its own process, and each merge has a time limit (see
// merge.go). A leader that resumes a job runs none of the job's code before the ledger requests a
// merge.
//
// Submissions are received only after the ledger's recovery. During recovery the leader does not
// know all workers, and would park every job.
//
// A job that runs after others is parked until they have ended (see after.go).
//
// The file load.go contains the code that moves a submission up to the state active; gone.go
// handles jobs that are missing in storage, and lost.go jobs whose submissions the queue has lost.
//
// # What can fail, step by step
//
// The process may die, or the term may end, at each step of a job. The table also covers storage
// calls that take effect after the process has died or the term has ended.
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
//	inherit             a plan and copied        the next leader inherits the same, or computes
//	                    blobs                    everything if the retried job was removed
//	first manifest      a job that runs without  the next leader resumes it; if that leader
//	                    a leader                 listed the jobs before, a worker's report
//	                                             or the submission brings the job to it
//	store the plan      a plan that no manifest  a plan is written once: every later leader
//	                    counts yet               that resumes the job reads it, and the blob with
//	                                             the nodes that the job reuses; a manifest that
//	                                             counts the plan has these nodes
//	write partials      blobs that nothing       they are removed at the job's end: a job that
//	                    names                    was resumed is assumed to have blobs
//	checkpoint          the old manifest or the  nothing was called durable yet; workers
//	                    new one                  have kept what the old one lacks
//	delete a blob       more blobs than needed   no later checkpoint names them
//	write a state       a blob that nothing      it belongs to the next round, and is removed at the
//	                    names                    job's end; the next leader writes the same
//	end of a round      the old round in the     the next leader has the state computed again, or
//	                    manifest, or the next    begins the next round
//	drop a round        blobs of the old round   they are removed at the job's end
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
// does not know of a job's removal must not begin the job again. After a removal there may still be
// submissions in the queue and delayed writes: of the spec by the submitting client, and of the
// index entry, the plan and the first manifest by leaders.
//
// A submission contains the version of the job's spec, which is written before the submission is
// sent. Drivers never reuse a version, and a spec is never replaced. A spec with the submission's
// version therefore proves that no removal has deleted the spec yet. The leader follows these
// rules:
//
//   - A job without a manifest is begun only because of a submission, and only if its spec has the
//     submission's version. A submission with a different version is dropped. An index entry alone
//     does not begin a job, because the entry has no version.
//   - After the write of a first manifest, the leader reads the spec again. If the spec's version
//     has not changed since the write, any concurrent removal will delete the manifest later. If
//     the spec has changed, the leader deletes its manifest and plan. The manifest contains the
//     spec's version, so that another leader can delete the manifest if its writer dies or the
//     write takes effect late.
//
// The following table shows that the rules work in each order of events:
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
// A spec that is stored again after a removal looks like the spec of a job whose message was lost,
// which the leader sends again (see Config.SearchEvery). If the leader has ended the job itself, it
// sends nothing. Otherwise the job runs again after some minutes, as if it had been submitted again,
// unless a user cancels it. A leader never deletes a spec, because the job may have been submitted
// again.
//
// A single read that finds nothing is no proof: a job counts as removed only if it is still missing
// after the time goneAfter. Before the second read the leader deletes only its own first manifest
// and plan, and keeps the submission, with which the job can begin again. A manifest contains the
// digest of the job's spec. If the spec of a job that has begun was deleted or replaced although
// the job was not removed, the job is parked and its records are kept.
//
// # Replies from storage
//
//   - Storage is unavailable: the call is retried until the term is over. Only steps that depend on
//     the storage call have to wait.
//   - The condition of a write does not hold: the task reads the stored manifest. If the stored
//     manifest has this leader's epoch and the expected sequence number, this leader wrote the
//     manifest and the reply was lost. If the stored manifest has a higher epoch, the term is over.
//     If the stored manifest is older than the leader's last one, or missing, storage has lost writes
//     that it had acknowledged. Then, and if the stored manifest is unexpected in any other way, the
//     term fails.
//   - Storage that counts its writes has lost some (see countWrites): the term fails, because the
//     leader may remember the end of a job that is running in storage. The next leader resumes jobs
//     from what storage has. It computes lost checkpoints again.
//   - A write that the leader has given up takes effect late: after another write, the condition of
//     the late write fails. Without another write in between, the late write counts like any other
//     write of this leader.
//   - The manifest of a job that a worker reports is not found: the job was removed, or the storage
//     was replaced while this process ran. If the storage's identity has not changed since the
//     process started, the worker is told that the job has ended. If the storage's identity has
//     changed, the leader steps down.
//   - A spec, plan or manifest is missing or damaged: the job is parked. A partial is damaged: the
//     job fails, because no leader could finish the job without the partial. The blob of a plan or
//     a result is damaged or too large for storage: the job fails. The leader continues with the
//     other jobs when one job fails or is parked.
//   - Storage returns any other error: the term fails (see [Term.Err]). The process releases the
//     lease, so that another process can lead. If terms fail in a row, all processes wait longer
//     after each of them before they claim the lease.
package term

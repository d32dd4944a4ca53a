// Package term is one term of a leader: everything between the ledger, which makes the
// decisions, and the process, which has a clock, a network and a scheduler. Only package
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
// The package has no goroutine, reads no clock, opens no socket and never blocks; a test
// of the package's imports proves this. It uses the process only through [Env] and
// [Transport]. The process calls the methods of [Term] on one loop, and none of them
// blocks. Slow work is a task. A task is straight-line code beside the loop that blocks
// only in calls of the store, of Env and of Transport. So the same code leads in a
// process and in a simulation, where one thing happens at a time and a seed decides
// which.
//
// # Who owns what
//
// All mutable state belongs to the loop: the ledger, the table of partials, the jobs,
// their manifests. A task gets values as arguments. Apart from its arguments, it uses only
// immutable values (the configuration, the leadership, a job's spec and code). It returns
// its outcome as a function, which the loop calls. There is one exception: a task that
// writes partials checks whether its job is ending, and stops writing if so.
//
// So the loop cannot distinguish a lost task from a task that has not returned, no matter what
// the lost task wrote. The outcome of a task whose term is over is dropped.
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
// In each state:
//
//   - pending: one task may write the job's manifest, to begin or to resume the job. If
//     the job is cancelled in this state, there is a second task. Each task writes only
//     if the manifest is still the one that the task read. So one of the two writes
//     fails, and its task then finds the manifest of the other task. If there are too many
//     active jobs, a pending job waits, without a task (see waiting.go).
//   - active: first unplanned, until the plan that a worker has made is durable, then
//     planned. The loop has the last manifest that was written. Writes of the manifest
//     follow one another, and each is conditional on the previous write. The ledger
//     requests one checkpoint of a job at a time, but a job may end while a checkpoint is
//     in flight. The job's final write then waits for the write of that checkpoint. If a
//     checkpoint has not begun its write when the end is decided, the checkpoint is
//     abandoned and is not called durable. The write of the plan takes its turn among
//     these writes, so no plan is written after the final manifest.
//   - ending: no more partials are written into blobs. Further outcomes of the job's
//     code are dropped.
//   - ended: the final manifest is durable. Once no task writes a blob of the job, all
//     its blobs are removed, then the index entry, then the submission. If the process
//     dies during the cleanup, the entries that are left make the next leader resume it.
//   - parked: this leader cannot work on the job, which takes no place among the active
//     jobs. A job whose kind no worker knows is admitted when a worker that knows the kind
//     says hello, or when its submission is delivered while there is such a worker. A
//     damaged job is loaded again when its submission is delivered, and by the next leader.
//
// Large partials stay with workers. The leader has the bytes of small partials, and the names
// of blobs; of a partial that a worker holds it knows node, size and checksum.
//
// The leader needs no definition of a job, since workers plan, merge and finish. With the
// definition it merges in its own process, each merge within a limit of time (see merge.go).
// A leader that resumes a job runs none of the job's code until the ledger requests a merge.
//
// Submissions are received once the ledger has recovered. Before that the leader does not
// know its workers, and would park every job.
//
// The code that moves a submission through these states, up to active, is in load.go; the
// code for jobs that are missing in storage is in gone.go.
//
// # What can fail, step by step
//
// At each step the process may die, or the term may end. A row also holds for a storage
// call that takes effect only after the process has died or the term has ended.
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
// A client removes a job that has ended: it deletes the spec before the manifest. A leader
// that does not know of the removal must not begin the job again. What may be left, or may
// still arrive, are submissions in the queue and delayed writes: of the client that
// submitted the job (the spec) and of leaders (index entry, plan, first manifest).
//
// A submission names the version of the spec that was written before the submission was
// sent. Drivers never reuse a version, and a spec is never replaced. So if storage has a
// spec of the submission's version, no removal has deleted the spec yet. The rules are:
//
//   - A job without a manifest is begun only for a submission, and only if its spec has the
//     submission's version. Otherwise the submission is dropped. The index alone begins no
//     job: its entry has no version.
//   - After the write of a first manifest, the spec is read again. If it has the same
//     version as before the write, a removal has not reached the manifest yet and will
//     delete it. If not, the leader deletes its manifest and plan. The manifest has the
//     version, so that another leader does the same if the writer dies before that, or if
//     the write takes effect later.
//
// In each order of events:
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
// A spec that was stored again after a removal stays, as a queued job that nobody begins,
// until it is cancelled and removed. A leader never deletes the spec of a job that storage
// shows: it may have been submitted again.
//
// One read that finds nothing proves nothing: a job counts as removed if it is missing
// again after goneAfter. Until then the leader deletes only its own first manifest and
// plan, and keeps the submission, which would begin the job again. A manifest has the digest
// of the job's spec: a begun job whose spec was deleted or replaced without a removal is
// parked, and its records are kept.
//
// # Replies from storage
//
//   - Unavailable: the call is repeated until the term is over. Only steps that must come
//     after the call wait.
//   - The condition of a write does not hold: the task reads the stored manifest. If the
//     manifest has this leader's epoch and the expected sequence number, this leader
//     wrote the manifest and the reply was lost. If the manifest has a higher epoch, the
//     term is over, and the task tells the loop. Any other manifest is impossible, and
//     the leader steps down rather than guess.
//   - An abandoned write takes effect later: if another write came in between, the
//     condition of the late write fails. Otherwise the late write counts as this leader's
//     own write.
//   - The manifest of a job that a worker reports is not found: the job was removed, or
//     the storage was replaced while this process ran. If the storage still has the
//     identity that it had when the process started, the worker is told that the job has
//     ended. Otherwise the leader steps down.
//   - Not found, or damaged: a damaged spec, plan or manifest parks its job. A damaged
//     partial fails its job, since no leader could finish the job without the partial. So
//     does a plan or a result whose blob is damaged, or that is too large for storage. The
//     leader goes on with the other jobs.
//   - Any other error: this process cannot lead. It steps down, so that another process
//     can try.
package term

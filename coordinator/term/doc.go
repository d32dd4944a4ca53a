// Package term is one term of a leader: everything between the ledger, which decides,
// and the process, which has a clock, a network and a scheduler. Only package
// coordinator and the simulator use it.
//
//	             calls, one at a time            events
//	package ───────────────────────────▶ Term  ─────────▶ ledger
//	coordinator ◀──── receipts, answers    │  ◀──actions──
//	             ◀──── beacons, nudges     │
//	                                       │ Go          ▲ Post
//	                                       ▼             │
//	                                     tasks: storage, jobs' own code
//
// The package has no goroutine, reads no clock, opens no socket and never blocks; a
// test of its imports proves it. It gets what it needs of the process through [Env] and
// [Transport]. The process calls the methods of [Term] on one loop, and none of them
// blocks. Slow work is a task: straight-line code beside the loop that blocks only in
// calls of the store, of Env and of Transport. So the same code leads in a process and
// in a simulation, where one thing happens at a time and a seed decides which.
//
// # Who owns what
//
// All mutable state belongs to the loop: the ledger, the table of partials, the jobs, their
// manifests. A task gets values as arguments. Besides them it uses only what never changes
// (the configuration, the leadership, a job's spec and code), and it returns a function
// that the loop calls with the outcome. There is one exception: a task that writes partials
// checks whether its job is ending, and then writes no more partials.
//
// So a task that is lost, whatever it has done, looks to the loop like a task that has not
// returned. The outcome of a task whose term is over is dropped.
//
// # The states of a job
//
//	        submission          plan, first manifest
//	queue ─────────────▶ pending ───────────────────▶ active ──EndJob──▶ ending ──▶ ended
//	                      ▲  │  │                       ▲   checkpoints           │
//	   a worker reports   │  │  └─ damaged, or of a     │                         ▼
//	   it (LookUpJob) ────┘  │     kind that is not     │           clean up: partials,
//	                         │     known: parked        │             index, submission
//	                         │                          │
//	                         └─ it has ended: clean up  └── fence, if the job was active
//	                                                        when the term began
//
// In each state:
//
//   - pending: one task may write the job's manifest, to begin or to resume the job. If
//     the job is cancelled during that, there is a second task. Each writes on condition
//     of what it read, so one of them fails and finds what the other wrote.
//   - active: the loop has the last manifest that was written. Writes follow one
//     another, each on condition of the one before. The ledger requests one checkpoint of
//     a job at a time, but a job may end while a checkpoint is in flight. Its final write
//     then waits for the write of that checkpoint. A checkpoint that has not begun its
//     write when the end is decided is abandoned, and is not called durable.
//   - ending: no more partials are written into blobs. Further outcomes of the job's
//     code are dropped.
//   - ended: the final manifest is durable. Once no task writes a blob of the job, all
//     its blobs are removed, then the index entry, then the submission. If the process
//     dies during that, what is left brings the next leader back.
//   - parked: left for the next leader. If a worker knows the kinds of a parked job and
//     of all active jobs, this leader steps down for it: see handover.go.
//
// The code that moves a submission through these states, up to active, is in load.go.
//
// # What can fail, step by step
//
// The process may die, or the term end, at each step. A row also holds for a task whose
// storage call returns only after the process has died or the term has ended.
//
//	step                what may be left         why that is safe
//	──────────────────  ───────────────────────  ─────────────────────────────────────────
//	list, fence         some manifests have the  a fence changes only the leader that the
//	                    epoch, others not        job belongs to; the next leader fences all
//	receive             the submission, hidden   it is delivered again
//	enter in the index  an entry without a       its submission is not deleted; the next
//	                    manifest                 leader begins the job, from the index
//	plan                a plan without a         a plan is written once: every later leader
//	                    manifest                 uses it
//	first manifest      a job that runs without  the next leader resumes it; if that leader
//	                    a leader                 listed the jobs before, a worker's report
//	                                             or the submission brings the job to it
//	write a partial     a blob that nothing      it is removed at the job's end: a job that
//	                    names                    was resumed is assumed to have blobs
//	checkpoint          the old manifest or the  nothing was called durable yet; workers
//	                    new one                  have kept what the old one lacks
//	delete a blob       more blobs than needed   no later checkpoint names them
//	write the result    a result without a       the next leader finishes the job again, gets
//	                    final manifest           the same bytes and finds them there
//	final manifest      index, submission,       the leader that resumes or receives the job
//	                    partials                 reads that it has ended, and cleans up
//	cancel              as for a checkpoint      the sender got no answer, and repeats the
//	                                             request
//	extend              a submission that is     the leader finds its job pending, active or
//	                    delivered again          ended
//
// # What storage may answer
//
//   - Unavailable: the call is repeated until the term is over. Only what must come after
//     it waits.
//   - The condition of a write does not hold: the task reads what is there. If that has
//     this leader's epoch and the expected sequence number, this leader wrote it and the
//     answer was lost. If it has a higher epoch, the term is over, and the loop is told.
//     Anything else is impossible, and the leader steps down rather than guess.
//   - A write that was abandoned takes effect later: either its condition fails, since
//     what it was to replace is gone, or nothing was written in between, and it is this
//     leader's own write.
//   - Not found, or damaged: a damaged spec, plan or manifest parks its job. A damaged
//     partial fails its job, since no leader could go on without it. The leader goes on
//     with the other jobs.
//   - Any other error: this process cannot lead. It steps down, so that another can try.
package term

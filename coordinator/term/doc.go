// Package term is one term of leading: everything between the ledger, which
// decides, and the process, which has a clock, a network and a scheduler.
//
//	             calls, one at a time            events
//	package ───────────────────────────▶ Term  ─────────▶ ledger
//	coordinator ◀──── receipts, answers    │  ◀──actions──
//	             ◀──── beacons, nudges     │
//	                                       │ Go          ▲ Post
//	                                       ▼             │
//	                                     tasks: storage, jobs' own code
//
// It has no goroutine, reads no clock, opens no socket and waits for nothing: a
// test of its imports proves it. What it needs of the process is [Env] and
// [Link]. The process calls its methods on one loop, none of which blocks. What
// takes time is a task: straight-line code beside the loop that waits in calls of
// the store and of the world alone. So the same code leads in a process and in a
// simulation, where one thing happens at a time and a seed decides which.
//
// # Who owns what
//
// All that changes belongs to the loop: the ledger, the table of partials, the
// jobs, their manifests. A task is given values, uses besides them what never
// changes (the configuration, the term, a job's spec and code), and returns what
// the loop does with its outcome. There is one exception: a task that writes
// partials looks whether its job is ending meanwhile, to write no more of them.
//
// So a lost task is a lost answer, whatever it did: to the loop it has not
// returned. A task of a term that is over posts in vain.
//
// # The states of a job
//
//	        submission          plan, first manifest
//	queue ─────────────▶ pending ───────────────────▶ active ──End──▶ ending ──▶ over
//	                      ▲  │  │                       ▲   checkpoints           │
//	   a worker speaks    │  │  └─ damaged, or a kind   │                         ▼
//	   of it (LookUpJob) ─┘  │     that is not known:   │             tidy: partials,
//	                         │     parked               │             index, submission
//	                         │                          │
//	                         └─ it has ended: tidy      └── fence, for those that were
//	                                                        active when the term began
//
// In each state:
//
//   - pending: one task may write its manifest, to begin it or to resume it. Where
//     the job is cancelled meanwhile there is a second one; each writes on condition
//     of what it read, so one of them fails and finds what the other wrote.
//   - active: the loop has the manifest as it was written last. Writes follow one
//     another, each on condition of the one before. The ledger asks for one
//     checkpoint of a job at a time, but a job may end while one is under way: its
//     last write waits for that of the checkpoint, and a checkpoint that comes to
//     its write after the end was decided is given up. It is then not called durable.
//   - ending: no new partial is put into a blob. What the job's code still comes to
//     is dropped.
//   - over: the final manifest is durable. Once no partial is on its way to a blob,
//     all of them are removed, then the index entry, then the submission: whoever
//     dies in between leaves what brings the next leader back.
//   - parked: left for the next leader. One that knows its kind, and those of all
//     active jobs, is given way to: see succession.go.
//
// # What can fail, step by step
//
// The process may die, or the term end, at each of these; every row is also what a
// task finds whose call took so long that all of it has happened meanwhile.
//
//	step                what may be left         why that is safe
//	──────────────────  ───────────────────────  ─────────────────────────────────────────
//	list, fence         some manifests have the  a fence changes nothing but whose the job
//	                    epoch, others not        is; the next leader fences all again
//	receive             the submission, hidden   it is delivered again
//	enter in the index  an entry without a       its submission is not deleted; the next
//	                    manifest                 leader begins the job, from the index
//	plan                a plan without a         a plan is kept once: whoever comes next
//	                    manifest                 goes by it
//	first manifest      a job that runs without  the next leader resumes it; if it listed the
//	                    a leader                 jobs before, a worker or the submission
//	                                             brings the job to it
//	put a partial       a blob that nothing      it is removed at the job's end: a job that was
//	                    names                    resumed is taken to have some
//	checkpoint          the old manifest or the  nothing was called durable yet; workers have
//	                    new one                  kept what it lacks
//	remove a spare      more blobs than needed   no checkpoint from that on names them
//	keep the result     a result without a       the next leader finishes the job again, comes
//	                    final manifest           to the same bytes and finds them there
//	final manifest      index, submission,       it is read as ended by whoever resumes it or
//	                    partials                 receives it, who tidies up
//	cancel              as checkpoint            who asked has no answer, and asks again
//	extend              a submission that is     it finds its job pending, active or ended
//	                    delivered again
//
// # What storage may answer
//
//   - Out of reach: the call is tried again until the term is over. Nothing else waits
//     for it but what must come after.
//   - The condition of a write does not hold: the task reads what is there. Its own
//     epoch and sequence: this was its write, and the answer was lost. A higher
//     epoch: the term is over, which the loop is told. Anything else cannot be, and
//     the leader steps down rather than guess.
//   - A write that was given up lands later: its condition fails then, as what it
//     was to replace is gone; or nothing had come after it, and it is the leader's own.
//   - Not there or damaged: a spec, plan or manifest parks its job; a partial fails
//     its job, since no leader could go on without it. The leader goes on with the rest.
//   - Anything else: this process cannot lead. It stops, and another may.
package term

// Package executor runs the spans of partitions that leaders assign, and keeps their
// results until they are durable.
//
//	                       Worker.Run
//	            ┌──────────────────────────────────┐
//	receipts ──▶│ link: the only goroutine that    │──▶ reports
//	beacons  ──▶│ speaks NATS and reads the clock  │──▶ questions who leads
//	nudges   ──▶│ for the session                  │──▶ answers to probes
//	            └──────┬───────────────────▲───────┘
//	                   │ one lock          │ wake
//	            ┌──────▼───────────────────┴───────┐
//	            │ session.Session                  │
//	            └──▲──────────────▲────────────────┘
//	   Take, Claim │      Opened  │
//	    Deliver    │              │
//	      slots: one      tasks: one goroutine per open job,
//	      goroutine each  from its Open to its Close
//
// Package worker/session contains the conversation with the leader; the link passes inputs to the
// session and performs its actions. A slot claims as many partitions of its span as take about a
// millisecond, but at least one, and runs them without locking the session. The overhead per
// partition is therefore small, and cuts and priorities take effect within a millisecond or at the
// next partition. When a report is due, a flag asks each slot to deliver its results after the
// current partition. The report does not wait for slots with long partitions. A slot delivers its
// results only up to a boundary of the tree, and keeps the results of the last few partitions for
// its next delivery. A few tree nodes therefore cover the delivered partitions, and the leader
// receives and merges only these nodes.
//
// # Parts and locks
//
// A [Worker] consists of parts. Each part has one subject and changes only its own state; [Worker] passes
// the session's actions to the parts:
//
//	part      subject                                      its state belongs to
//	core      configuration, contexts, the session         core.mu
//	link      messages, the clock of the session           the goroutine of Run
//	slots     spans that run                               core.mu; merge stacks: the slot
//	tasks     open jobs                                    core.mu; opening: the task's goroutine
//	rounds    open jobs with rounds (within tasks)         core.mu; opening and beginning a round: roundsJob.opening
//	calls     calls of Plan, Merge and Finish              core.mu; operands: the call's goroutine
//	partials  large partials: held, stored, fetched        core.mu; bytes: the lock of holdings
//	audits    second computations for other workers        atomic counters
//
// The parts share core.mu, because most of their decisions must agree with the session: a partial that
// is held must be known to the session, and a job that has ended must have no task. Other locks are
// taken last and released before anything else is called.
//
// # Leaders
//
// The worker follows the leader with the highest epoch in any message so far. If the followed
// leader does not answer for some seconds, the worker follows the epoch in the lease's record (see
// package session). Without a leader, the worker continues to run the spans that it holds, and
// keeps their results. The worker sends a new leader every result that may not be durable, so no
// result is computed again. The worker keeps at most about 256 MiB of results. If nothing becomes
// durable before this limit of results is reached, the worker starts no further partition.
//
// # Large partials
//
// A partial above 256 KiB, or above the limit in the opening of its job, stays in the worker (see package worker/session). Package
// worker/internal/holdings bounds the memory of large partials and of operands and results of
// merges, and moves partials above the limit to files. Slots wait while memory is short. If the
// operands and the result of a call exceed the limit and the job has functions on streams ([jobs.Large]), the call reads
// its operands from memory or files and writes a merged partial to a file. Package
// worker/internal/bulk sends partials to other workers and fetches operands from them, through a socket of the machine or on a
// separate connection to NATS. Without [Config.Bulk], and for leaders with an old version, large partials
// are written to storage instead.
//
// # Audits
//
// If a job is audited (see [jobs.Audit]), a slot's merge stack records the hash of each audited
// value. Before the slot delivers results, it has the audited partitions computed again by another worker,
// and compares the hashes. No state of an audit must survive, because a partition does not count
// before its audit:
//
//	slot                                       auditor
//	records hashes ─── request: partitions ──▶ opens the job if it is not open
//	compares       ◀── every second: working ── Map
//	delivers       ◀── hashes ─────────────────
//
// The auditors do not need a free slot, so workers may wait for each other. The last receipt names
// them. The slot computes the partitions itself if there is none, or if the span runs alone,
// because its partition may end the auditor's process. What can fail in an audit:
//
//   - The auditor has died, is stopping, or cannot open the job: the slot asks the next one.
//   - The auditor cannot read the request, or its storage is unavailable for longer than the job's
//     limit for Open: the same.
//   - The auditor is busy: it repeats that it is working, and the slot waits.
//   - A request or an answer is lost: the request is repeated after two seconds. A second computation
//     does no harm.
//   - The auditor dies after it has begun: the attempt has failed, because the partition may have ended
//     the process. A job therefore ends at most one process for each attempt.
//   - The worker dies, or the job ends: the auditor stops within a second, because nobody receives
//     its messages any more.
//   - The leader dies: the audit goes on. The next leader names auditors in its first receipt.
//   - The auditor's code does not return: the failure of the partition is reported. After as many such
//     audits as it has slots, the auditor refuses requests.
//
// # Reuse
//
// If a job reuses partials (see package jobs), three steps use package jobs/store/kept. None of them fails the job:
//
//   - After Plan, the worker looks for kept partials for at most 20 s. It merges them, and writes the nodes to a blob
//     that the output of Plan names. If the worker dies or storage fails here, another worker plans, or the
//     job computes everything.
//   - Merge stacks keep the partials that are worth their bytes. Packs are written beside the slots, and the last one
//     after the job's end. If the worker dies before, later jobs compute these partitions.
//   - After Finish, the worker keeps the root, if one build has computed all of it and no partition was skipped.
//
// # Rounds
//
// The session and all parts treat each round as a job. The tasks of a job's rounds share only what the job's Open
// has returned:
//
//	opening of round 1 ─▶ Open ─▶ Round ─▶ task ─▶ round 1 ends ─▶ … ─▶ the job ends ─▶ Close, CleanUp
//	opening of round 2 ─────────▶ Round ─▶ task
//
// The shared job is closed when the job has ended and no task of a round is left, or when it has had no task for 10
// minutes. What can fail:
//
//   - Round fails or hangs: the failure is that of Open of this round, and is retried. What Open has returned is kept.
//   - A partition of an old round does not return: its task, and with it the job, stays open until it does. Later
//     rounds go on.
//   - The end of the job is never told: the job is closed after 10 minutes, without CleanUp.
//   - The blob of a state cannot be read: reading is retried while storage is unavailable. Otherwise opening the
//     round fails.
//
// A state that is too large for an opening is durable before its round begins. Its bytes come from this worker, if its
// call of Finish has returned them, from the worker that the opening names, or from storage (see state.go). Each
// worker that has a round open serves its state. What can fail:
//
//   - The other worker does not have the state yet, because it is also getting it: the fetch is repeated for a second, and
//     for the time that the state takes at 50 MB/s. Then the state is read from storage.
//   - The other worker is gone, or its bytes are damaged: the state is read from storage.
//   - The leader dies: the next one knows no worker with the state, so workers that open the round read from storage.
//
// # What can fail
//
//   - A partition fails: the failure is reported, and the span continues with the next partition.
//   - A job cannot be opened: the failure is reported, and the leader assigns the job's spans
//     again. The first call of Fork is part of opening a job, so that a Fork that does not return
//     does not occupy a slot.
//   - A job's code ends the process: if a span runs alone, the worker reports each function before
//     the call, and waits until the leader has received the report. The leader therefore knows
//     which function ended the process.
//   - Close of an ended job ends the process, on each worker: the leader's own worker calls Close
//     last, so that followers are there to take over.
//   - An operand cannot be fetched from its holder, or its bytes are damaged: the call does not
//     begin, and the worker reports the failed fetch with the holder's ID.
//   - A merge fails after it has taken over held operands: the worker keeps the operands that the
//     merge has not changed. The partitions of the changed operands run again, and the next attempt
//     merges copies, so each merge loses operands at most once.
//   - A held partial cannot be read back from the spill folder: the worker no longer lists the
//     partial in reports, and the partial's partitions run again. A held partial is too large for
//     storage: the worker logs an error, and the partial is lost if the worker ends. If memory stays
//     full of such partials, and they cannot be moved to files either, the job fails.
//   - Storage does not answer: writes of large partials and attachments and reads of plans are
//     retried until storage answers; the slot waits.
//   - Storage is slow when the worker stops: writes that have begun, and removals of data of ended
//     jobs, may take until the end of the drain timeout, and are given up then, with a log line. A write
//     that ends after the worker has left its leader is undone if its job has ended.
//   - Package session describes failures of NATS and of the leader.
//   - A message is malformed: the message is ignored and sometimes logged.
//   - A job's code does not return: Run returns [ErrStuck].
//
// The process dies: other workers compute its lost results again.
package executor

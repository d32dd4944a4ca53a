// Package ledger makes all decisions of a leader: which partitions are finished, what each worker
// holds, and what to do next. Package ledger is internal to package coordinator.
//
// The ledger is a state machine without a clock, I/O or goroutines. Package term calls the ledger:
// it passes in events and performs the actions that Step returns:
//
//	Step(now, Event) []Action
//
// The same events give the same actions, so a failure can be replayed, and whole clusters run in a
// test within milliseconds. The ledger refers to partials by a [Ref] and never sees their bytes.
// The ledger's size grows with the number of workers and of their assignments, not with the number
// of partitions.
//
// # A job
//
// A job has no partitions until its plan is durable. Workers run the partitions, and call Plan, Finish
// and Estimate:
//
//	JobAdded ─▶ call of Plan ─▶ StorePlan ─▶ JobPlanned ─▶ partitions, merges ─▶ call of Finish ─▶ EndJob
//
// A job that reuses partials of earlier jobs gets their nodes with JobPlanned. From then on they are durable nodes
// like those of a resumed job.
//
// The leader merges finished siblings. The leader runs no other code of a job than Merge. Workers
// do the merges of a job instead of the leader in the following cases:
//
//   - a partial is large, unless all workers run an old version that cannot hold partials,
//   - the leader's program does not have the job's definition,
//   - for 10 s after the last leader died or became silent, because a merge may have killed that
//     leader,
//   - a merge of the job exceeded the time limit in the leader, or killed a worker.
//
// # Where a partition is
//
// Every partition of an active, planned job is in exactly one of five states:
//
//	                            assigned            reported
//	fresh, failed, crash suspect ───────▶ assigned ───────────▶ finished
//	  ▲      ▲       ▲                      │                      ▲
//	  │      │       └──── worker died ─────┤                      │
//	  │      └──────────── failed ──────────┤                      │ skipped
//	  └─ given back, cut, worker silent ────┴──────────────────────┘
//
// The first three of the five states form the job's queue:
//
//   - fresh: no worker has tried the partition, or a worker has given it back.
//   - failed: the partition's last attempt returned an error. A failed partition is retried alone
//     after a backoff, on another worker if possible. A partition that reaches the limit of
//     attempts is skipped, or the job fails.
//   - crash suspect: a worker died while the partition was assigned to it. Crash suspects run again
//     in pieces of one eighth of their span. A single partition that two workers died with is
//     quarantined: it runs alone, on a worker that is reserved for quarantined partitions and
//     calls. A quarantined partition is blamed after three more deaths, unless other workers die
//     too: it is skipped, or the job fails.
//
// The remaining two states of a partition are:
//
//   - assigned: a worker has an assignment that contains the partition. A second worker runs a
//     speculative copy of a partition that is late. The first result of a partition is used, and a
//     second result is dropped.
//   - finished: a finished node covers the partition. A finished node has a partial, unless all of
//     its partitions were skipped.
//
// # Prefixes
//
// A job with estimates has prefixes, which are judged in the order of their rungs (see package engine):
//
//	nodes of the next rung finished ─▶ call of Estimate ─▶ judged ─▶ merges across the rung ─▶ next rung
//	                                                         │
//	                                                         └ it suffices ─▶ checkpoint ─▶ call of Finish
//
// Two siblings that a rung separates are merged only when all rungs below their end are judged. The nodes of the
// next rung are therefore never hidden, and no partial of a prefix has to be stored: after a change of leader, the
// manifest has the judged rungs and the nodes of the next one. Dispatch begins with the lowest partitions, also if
// partials are large. While a prefix may suffice, the workers together hold at most about a quarter of the
// partitions below, and two short spans for each slot, so that little runs above a stop. What can fail, step by step:
//
//	the worker of a judgement dies    the call is quarantined and blamed, like a call of Finish
//	a judgement comes twice, late, or it is dropped, because it is for another rung, or a partition was
//	for another leader                skipped since
//	a leader dies after a judgement   the next leader judges the rung again, with the same outcome
//	… after a stop                    the same; a stop in time is durable before Finish is called
//	… after a merge across a rung     a worker makes this merge only when the judgement is durable; the
//	                                  leader's merges are in the same manifest as the judgement
//	a node of a judged prefix is lost its partitions run again; above a stop nothing runs again. If others are
//	                                  merged across the rung, a stop in time is at the next rung
//	a partition fails for good        the job ends when no rung below the partition suffices
//
// # Rounds
//
// Each round of a job with rounds is a job of the ledger, with an ID of its own. The ledger knows one round of a job at a
// time:
//
//	JobAdded ─▶ plan, call of Finish (Start) ─▶ EndRound ─▶ JobEnded for the round, JobAdded    round 0
//	                 ┌───────────────────────────────────────────────────────┘
//	                 ▼
//	   partitions, merges ─▶ call of Finish (Next) ─▶ EndRound ─▶ JobEnded, JobAdded            rounds 1 to n
//	                 ▲                                    │  └ the state is the last one, or the time is up
//	                 └──────────── next round ────────────┘                 │
//	                                                                        ▼
//	                        call of Finish ─▶ EndJob ─▶ JobEnded for the round and the job      last round
//
// A new round is shared with all workers that had the round before, so that each of them learns of the job's end.
// A worker that reports a round that is not the current one is told that it has ended, and whether the job
// continues.
//
// The partitions that a worker has computed in a round are its home in the next round, because it may have loaded
// their data (see affinity.go). Dispatch prefers homes:
//
//	a worker gets                          queued partitions of its home, then those of no home
//	… if it is idle and there are neither  the last partitions of the largest home, without waiting for their
//	                                       worker, except for 20 ms at the beginning of a round
//
// A large state is in storage when its round begins. The worker that has computed it also serves it to two workers, and each
// of these serves two others (see stateSpread).
//
// What can fail, step by step:
//
//	a report of an earlier round comes late  the round has ended: the worker drops its items and spans
//	Finish of an earlier round returns late  the same
//	Finish returns for an earlier leader     the output is dropped, and this leader calls Finish again
//	a round ends while a worker is silent    the worker is told when it reports the round; if it never does,
//	                                         it closes the job after some time (see package executor)
//	a worker dies, is slow or drains         its home goes to idle workers, and is theirs in the next round
//	a leader dies before EndRound is durable the next leader calls Finish again, for the same state
//	… after that                             the next leader adds the next round, which has no homes yet
//	Start or Next hangs, fails or kills      the call is blamed like one of Finish; the error names the function
//
// # Benched workers
//
// If partitions fail on a worker and then run on other workers, the worker is to blame, for example
// because its process has no file descriptors left. After five such partitions, without a partition
// that the worker has finished itself, the worker is benched: it gets no partitions for 10 s, and
// then one partition as a probe. A partition that failed on it last is no probe while another worker can
// run it, because the probes would use up the partition's attempts. If the probe fails, the worker is benched
// for longer, up to a minute. Partitions that fail everywhere, because of their job, bench no worker.
//
// # Deaths from outside
//
// Machines are evicted, and processes are killed. The ledger cannot know why a process died, so it compares
// deaths. A death comes from outside if all work that was assigned to the worker has finished since
// then. The number of these deaths, and the time for which workers have run without quarantined work,
// give the mean lifetime of workers. Work that ran alone on workers that died is blamed if
//
//	deaths ≥ 2 + 8 · (time that it ran on them) / (mean lifetime), and deaths ≥ 3
//
// The work of a death that did not come from outside explains the death, so both the death and the time
// before it are left out. Work that is not blamed is tried again, after other quarantined partitions of
// its job, and the job's Trouble says so. At most a quarter of the workers are reserved, or half of them
// if no other work is queued; the other workers are the comparison. The time until a death is noticed counts too, so
// reserved workers report often even if the other workers of a large cluster do not.
//
// # The trial of a job
//
// A job begins with a trial on few workers, because the job may kill each worker that begins it. At
// first only two workers get partitions of the job, and the leader's own worker gets none. After
// one worker has opened the job, the number of workers doubles every 100 ms, up to 16; then all workers
// may get partitions, even if the trial is not over. If a worker dies
// during the trial, one crash suspect is quarantined at once, and no other partition of the job is
// assigned. A job whose Open ends its process therefore ends at most five processes. The trial is
// over when a partition is finished or has run for 2 s. Other workers may wait for this, so the workers
// of the first assignments are nudged when their last report is at least 100 ms old.
//
// The worker of a quarantined partition reports each function of the job before it calls the
// function. The job's error therefore names the function that ended the processes.
//
// # Where a large partial is
//
// A large partial stays with the worker that computed it. Each report lists the held nodes of the
// worker, and the ledger relies on this list:
//
//	           computed,        merged into          written to      checkpoint
//	missing ───────────▶ held ◀──────────── operands    │
//	   ▲                  │  ────────────────────────────┴▶ stored ───────────▶ durable
//	   └─ holder died, or │
//	      lost the node ──┘
//
// A held node is in one of these states:
//
//   - held: a worker holds the partial, and the ledger's caller does not have it. The ledger keeps
//     the finished nodes below a held node whose partials are on other workers or in the caller. If
//     the holder dies, the finished nodes below the held node are used instead, and only the
//     remaining partitions run again. The merge of large siblings is assigned to a worker that
//     holds one operand; this worker fetches the other operand from its holder. After the merge the
//     worker's own operand is released at once, because the result is on the same worker.
//   - stored: the ledger's caller has the partial too, in a blob in storage. Nodes below a stored
//     node are kept until the stored node is durable, because the next leader would not know of the
//     blob.
//   - durable: the nodes below a durable node are released. The holder keeps the partial of a
//     durable node, because it is an operand of a later merge.
//
// A holder is told to store a node in three cases: the holder drains; another worker could not
// fetch the node; or storing costs less than the expected loss of work (see worthStoring). A
// draining holder is told to release a durable node, which another worker may have stored.
//
// What can fail, step by step:
//
//	the holder dies, or is silent     the node's partitions are missing again, except those of
//	                                  nodes below it
//	… while another worker fetches    the call is withdrawn, and the fetch fails. If the fetch
//	  the node                        was complete, the result is held by the other worker and
//	                                  finishes the node's parent
//	a fetch stops half-way, or the    the call is retried after a short time; the holder is probed
//	bytes are damaged                 and stores the operand, which is then read from storage
//	the holder loses a node           its next report does not list the node, which is treated like the holder's death
//	a report with nodes is lost       the report is repeated unchanged; the list is the whole state
//	an order to release or store      the node is listed again, and the order is given again
//	is lost with its receipt
//	a leader dies                     the first report to the next one lists all held nodes
//	… before a stored node is         the holder reports the blob again; if it has died too, what
//	  durable                         stays below the node at other holders takes its place
//	a merge returns for an earlier    the result is used, unless it lacks other partitions than
//	leader                            this leader has skipped
//	this leader has not planned       the worker keeps the node, which is used when this leader has
//	the node's job yet                the plan
//	two workers hold one node         the second worker is told to release it
//	two leaders                       nodes are released only on account of a durable manifest,
//	                                  which the older leader cannot write, or because the worker
//	                                  itself holds what contains them
//	the job ends                      its holders are told, and drop what they hold
//
// # Where a call is
//
// A call of an active job is in one of three places:
//
//	           assigned             returned
//	queued ─────────────▶ assigned ──────────▶ done
//	  ▲                      │
//	  ├─ returned an error ──┤
//	  ├─ worker died ────────┤
//	  └─ taken back, silent ─┘
//
// Calls are retried, quarantined and blamed in the same way as partitions:
//
//   - A call that returned an error is queued again after a backoff, for another worker if there is
//     one. A job fails when a call reaches the limit of attempts, or if the call's error is
//     permanent.
//   - A call whose worker died is quarantined at once. A quarantined call is blamed after three more
//     deaths, unless other workers die too, and the job fails.
//   - A worker whose call slots have all run calls for 10 s is hung: it makes one more call at a time
//     beside them. Such a call must return within 10 s. If it does not, it has not failed, and waits
//     for a call slot. The calls that a hung worker has not begun are withdrawn.
//   - A call that has not begun is withdrawn if another worker can begin it earlier, or if the
//     call's node was finished in another way.
//   - A merge that the leader has given up becomes a call. The code of an abandoned merge may still
//     run in the leader and kill it, so the manifest records that the leader has begun the merge.
//   - The leader's own worker makes a call in four cases: no other worker can make it; the call
//     failed on the only other worker that can; no other worker could begin it for 5 s; or the
//     leader's worker holds all large operands of the call.
//
// The ledger accepts a plan from a call that any leader assigned. The result of a merge is accepted
// from a call of any leader too, if the result lacks the same partitions as this leader has skipped:
// the result's bytes then equal those of a merge for this leader. The worker may no longer have the
// operands of the merge, so without the result their partitions would run again. There is one
// exception: if the job may skip partitions, a result that seems to lack none is accepted only from
// a call of this leader, because earlier versions do not say what a result lacks. Any result of a
// merge is dropped if it lacks other partitions, for example because a partition was skipped after
// the call had been assigned. The result of Finish is accepted only from a call of this leader.
//
// # Assignments
//
// An assignment is a unit of work that is assigned to a worker: a span of partitions, or a call.
// Each report lists the assignments that the worker holds, and the ledger relies on this list. If
// the worker no longer holds a partition or a call and has not reported its result, the partition
// or call is queued again. If a report lists a span that this leader did not assign, the worker
// keeps the partitions of the span that are still queued. A worker also keeps a call of Plan that
// an earlier leader assigned, if the job has no plan yet. All other calls that an earlier leader
// assigned are withdrawn.
//
// A report also contains the numbers of the worker's lost slots and lost calls. A lost slot or call
// still runs code whose assignment has ended, because the job has ended or the code does not
// return. A worker gets no assignments for lost slots and lost calls.
//
// A report may contain a job that is unknown to this ledger: the job has ended, or the ledger's
// caller has not loaded it, or an earlier leader began it after this leader had listed the active
// jobs. The ledger asks its caller about an unknown job, and tells the worker to drop the job's
// items and spans only if the job has ended. It acknowledges the items of a job on which this leader cannot work, and does not
// keep them. If the leader gets the job after all, for example because a worker that knows it has come, workers that have
// reported such items start over: they report all that they have. The ledger refuses the hello of a worker on another
// storage, because this leader's storage does not contain the worker's jobs.
//
// # Audits
//
// Audits are not known to the ledger: a worker has its audited partitions computed again by another
// worker before it reports them (see package executor). The ledger only names other workers
// that can run an audited job, in each receipt.
//
// # A term
//
//	New ─▶ JobAdded for each active job ─▶ recovery ─▶ dispatch ─▶ Stopping ─▶ AllDurable
//
// # Promised order
//
//   - Recovered before assigned: nothing is assigned until every worker in a manifest has reported
//     its spans or is dead, or Config.RecoveryTimeout has passed. The worker of a leader that was silent is not
//     awaited. Workers that no manifest names yet have Config.RecoveryGrace to report, unless as many
//     workers have reported as the previous leader had announced. Work that a worker reports later is its own
//     as far as it is still queued, and its results count.
//   - Durable before acknowledged: an item is acknowledged as durable only after the [Checkpointed]
//     event of a [Checkpoint] that was requested after the item had been received.
//   - Written ahead: if a job may have killed a leader, an assignment to the leader's own worker is
//     sent only after a checkpoint that names the assignment is durable. If an assignment kills the
//     leader, the next leader therefore knows which assignment was running.
//   - Pinned before assigned: a job with Spec.StrictBuilds runs only on workers with one build.
//     Work of a pinned job is assigned only after a checkpoint that names the build is durable, so
//     all leaders use the same build.
//   - Planned before assigned: partitions are assigned only after [JobPlanned], so all leaders
//     split the job in the same way.
//   - Ended before told: workers learn of the end of a job, or of a round, only after [JobEnded].
//   - Durable before begun: partitions of a round are assigned only after its state is durable, because [JobAdded] answers
//     [EndRound].
//   - Skipped before merged: a merge whose operands lack skipped partitions is assigned only after
//     a checkpoint with these partitions is durable, so that every later leader accepts the result.
//   - Kept before merged: partials are merged with skipped partitions only when all others are finished, and a checkpoint with
//     the largest nodes that lack none is durable ([store.Manifest.Whole]). A job that retries the skipped partitions begins
//     with these nodes, whenever this leader dies. Jobs with estimates or rounds, and nodes that take too much
//     storage, are merged at once, and so are nodes that workers cannot store within a minute.
//   - Judged before merged: a worker merges across a rung only after a checkpoint with the rung's judgement is
//     durable, so that every later leader accepts the result.
//   - Stopped before finished: Finish is called for a prefix only after a checkpoint with the stop is durable, and
//     held nodes above the prefix are released only then.
//   - Durable before released: a holder releases an operand of another worker's merge only after a
//     checkpoint with the merge's result is durable.
//   - Once: a repeated report gets the same receipt. The items of a worker are processed in the
//     order of their numbers, and each item counts once, even if the leader changes.
//   - In order: the caller starts the actions of one step in their order. The caller looks up an
//     action's refs when it starts the action, because a later action may drop these partials.
//
// # Bounds
//
// Reports may contain invented worker IDs and false content. The ledger therefore bounds the memory
// that reports can make it use:
//
//   - The ledger keeps at most Config.MaxWorkers workers, and for each worker the spans and items
//     that one valid report can contain. A silent worker is removed.
//   - Of about 10,000 workers that have left, or of Config.MaxWorkers if that is more, the ledger keeps
//     the item numbers for ten minutes each.
//   - Each job has at most Config.MaxTreeNodes tree nodes, Config.MaxSkipped skipped partitions,
//     and Config.MaxFailing failed partitions, or as many failed partitions as may be skipped if
//     that is more. A job that exceeds one of its limits fails.
//   - Each worker has at most [wire.MaxNodes] held nodes, which count as tree nodes of their jobs.
//   - For each job the ledger keeps the names of at most 16 builds of workers.
//   - For each job the ledger keeps at most 256 KiB of reasons why partitions were skipped.
//   - For each job the ledger keeps the first KiB of at most ten errors; other errors are only
//     counted.
//   - Each job has at most one call of Plan, one of Finish, and one of Merge for each pair of
//     finished siblings. A worker has at most 264 calls; a receipt contains at most 512 KiB of
//     operands, unless it contains only one call.
//   - The ledger looks up at most 100 unknown jobs at a time, and keeps the IDs of the last 4,096
//     jobs that ended. The ledger's caller bounds the numbers of parked and of active jobs.
//
// The memory that a step allocates is proportional to its event. The worst possible report makes a
// step allocate about 100 MB: each of its items begins a new path in the deepest possible tree.
//
// # What can fail
//
//   - A worker is silent for Config.SilentAfter, or its process has died ([WorkerDied]): the worker
//     is removed. A removed worker that is still alive sends a hello, and keeps those of its
//     partitions that are still queued.
//   - A report or its receipt is lost: the worker repeats the report. A lost [Nudge] or
//     [Probe] only causes a delay.
//   - All workers with a job's pinned build leave: the job waits, and its Trouble names the build.
//   - A merge in the leader returns an error: the job fails, because the same operands would fail
//     again. A merge exceeds its time limit ([MergeSlow]): workers do the job's merges.
//   - A call fails: see the section "Where a call is". Storage refuses the plan that a call has
//     returned ([JobFailed]): the job fails.
//   - Code of a job does not return: the worker has one slot or call less, and the failure that it
//     reports counts as an attempt.
//   - A checkpoint fails: the leader steps down and discards its ledger.
//   - The leader dies: the next leader begins with the last durable [Snapshot]. Partitions that
//     surviving workers hold or have finished are not run again when the leader dies.
package ledger

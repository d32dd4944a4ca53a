// Package ledger makes all decisions of a leader: which partitions are finished, what each worker
// holds, and what to do next. The package is internal to package coordinator.
//
// The ledger is a state machine without a clock, I/O or goroutines. The ledger's caller, package
// term, passes in events and performs the actions that Step returns:
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
// A job has no partitions until it is planned. Workers run the partitions, and call Plan and
// Finish:
//
//	JobAdded ─▶ call of Plan ─▶ StorePlan ─▶ JobPlanned ─▶ partitions, merges ─▶ call of Finish ─▶ EndJob
//
// The leader merges finished siblings. The leader does not run any other code of a job. In the
// following cases workers do the merges instead of the leader, in calls of Merge:
//
//   - if a partial is large, unless all workers run an earlier version that does not hold partials,
//   - if the leader's program does not have the job's definition,
//   - for 10 s after the last leader died or became silent, because a merge may have killed that leader,
//   - if a merge of the job has exceeded the time limit in the leader, or has killed a worker.
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
// The first three states form the job's queue:
//
//   - fresh: no worker has the partition.
//   - failed: the partition's last attempt returned an error. The partition is retried
//     alone after a backoff, on another worker if there is one. At the limit of attempts
//     the partition is skipped, or the job fails.
//   - crash suspect: a worker died while the partition was assigned to it. A span of crash suspects
//     runs again in pieces of one eighth. If two workers have died while a single partition was
//     assigned to them, the partition is quarantined: it runs alone, on a worker that is reserved
//     for quarantined partitions and calls. After at most three more deaths the partition is
//     blamed: the job fails, or the partition is skipped.
//
// The other two states are:
//
//   - assigned: the partition is in an assignment of a worker. If the partition is late, a second worker runs a
//     speculative copy. The first result is used, and the second result is dropped.
//   - finished: a finished node covers the partition. The node has a partial, unless all of its
//     partitions were skipped.
//
// # The trial of a job
//
// A job begins with a trial, because it may kill each worker that begins it. At first only two workers get
// partitions, and not the leader's own worker. When one of the two workers has opened the job, the number of
// workers doubles every 100 ms. If a worker dies, one crash suspect is quarantined at once, and no other
// partition of the job is assigned. So a job whose Open ends its process ends only five processes. The trial is
// over when a partition is finished or has run for 2 s.
//
// The worker of a quarantined partition reports each function before it calls the function.
// So the job's error names the function that ended the processes.
//
// # Where a large partial is
//
// A large partial stays with the worker that computed it. Each report lists the nodes that the
// worker holds, in the same way as its spans, and the ledger relies on this list:
//
//	           computed,        merged into          written to      checkpoint
//	missing ───────────▶ held ◀──────────── operands    │
//	   ▲                  │  ────────────────────────────┴▶ stored ───────────▶ durable
//	   └─ holder died, or │
//	      lost the node ──┘
//
// A held node is in one of these states:
//
//   - held: a worker holds the partial, and the caller does not have it. The ledger keeps the finished nodes
//     below this node whose partials another worker or the caller has. If the holder dies, these nodes are used
//     instead, and only the remaining partitions are missing again. The merge of large siblings is a call,
//     assigned to a worker that holds one operand; this worker fetches the other operand from its holder. After
//     the merge the worker's own operand is released at once, because it would be lost together with the
//     result.
//   - stored: the caller has the partial too, in a blob in storage. The nodes below this node are kept until
//     the node is durable, because the next leader would not know of the blob.
//   - durable: the nodes below this node are released. The holder keeps the partial, because it is an operand
//     of a later merge.
//
// A holder is told to store a node in three cases: the holder drains; another worker could not
// fetch the node; or the work that would be lost with the holder is worth the write (see
// worthStoring).
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
//   - A call that returned an error is queued again after a backoff, for another worker if
//     there is one. At the limit of attempts, or if the error is permanent, the job fails.
//   - A call whose worker died is quarantined at once. After at most three more deaths the
//     call is blamed, and the job fails.
//   - A call that has not begun is withdrawn in two cases: its worker has more calls than it can
//     run and another worker can begin the call; or the call's node is finished in another way.
//   - A merge that the leader has given up becomes a call too. The merge's code may still run in
//     the leader and kill the leader, so the manifest records that the leader has begun it.
//   - The leader's own worker makes a call only if no other worker can make it, if no other worker
//     can begin it for 5 s, or if it holds all large operands of the call.
//
// A plan is accepted from a call of any leader. A merge or a result that was computed for an earlier leader is
// dropped, and the call is repeated, because the earlier leader may have skipped other partitions than this
// one.
//
// # Assignments
//
// An assignment is a unit of work that is assigned to a worker: a span of partitions, or a call.
// Each report lists the assignments that the worker holds, and the ledger relies on this list. If
// the worker no longer holds a partition or a call and has not reported its result, the partition
// or call goes back to the queue. If a report lists a span that this leader did not assign, the
// worker keeps the part of the span that is still queued. The worker also keeps a call of Plan that
// an earlier leader assigned, if the job has no plan yet. Any other call that an earlier leader
// assigned is withdrawn.
//
// A report also contains the numbers of the worker's lost slots and calls. Lost slots and calls run code for
// which the report lists no assignment, because the job has ended or the code does not return. A worker gets
// assignments only for its other slots and calls.
//
// A report may contain a job that this ledger does not know: a job that has ended, a job that the
// caller has not loaded, or a job that an earlier leader began after this leader had listed the
// active jobs. The ledger asks its caller about the job, and tells the worker to drop the job's
// items and spans only if the job has ended. The jobs of a worker on another storage are not in
// this leader's storage, so the ledger refuses the hello of such a worker.
//
// # A term
//
//	New ─▶ JobAdded for each active job ─▶ recovery ─▶ dispatch ─▶ Stopping ─▶ AllDurable
//
// # Promised order
//
//   - Recovered before assigned: nothing is assigned until every worker that a manifest names has
//     reported its spans or is dead, or until Config.RecoveryTimeout has passed.
//   - Durable before acknowledged: a receipt tells a worker that an item is durable only after the
//     [Checkpointed] event of a [Checkpoint] that was requested after the item had been received.
//   - Written ahead: in a job that may have killed a leader, an assignment to the leader's own worker is sent
//     only after a checkpoint that names it is durable. So if the assignment kills this leader too, the next
//     leader knows which assignment was running.
//   - Pinned before assigned: a job with Spec.StrictBuilds is restricted to one build of the
//     workers' program. The job's work is assigned only after a checkpoint that names the build is
//     durable, so all leaders keep to the build.
//   - Planned before assigned: partitions are assigned only after [JobPlanned], so all
//     leaders cut the job in the same way.
//   - Ended before told: a worker is told of a job's end only after [JobEnded].
//   - Skipped before merged: if operands of a merge lack skipped partitions, the merge is assigned
//     only after a checkpoint that lists these partitions is durable, so that every later leader
//     accepts the result.
//   - Durable before released: a holder is told to release an operand of another worker's merge
//     only after a checkpoint with the result is durable.
//   - Once: a repeated report gets the same receipt. The items of a worker are processed in the
//     order of their numbers, and each item counts once, even if the leader changes.
//   - In order: the caller begins the actions of one step in their order. A later action may drop a
//     partial to which an earlier action refers, so the caller looks up the refs of an action when
//     it begins the action.
//
// # Bounds
//
// Reports may contain any number of different worker IDs, and their content may be false. The
// ledger bounds the memory that reports can cause it to use:
//
//   - At most Config.MaxWorkers workers, and for each worker the spans and items that a valid report can
//     contain. A worker that becomes silent is removed.
//   - For about 10,000 workers that have left: their item numbers, for ten minutes each.
//   - For each job: Config.MaxTreeNodes tree nodes; Config.MaxSkipped skipped partitions; and Config.MaxFailing
//     failed partitions, or the number of partitions that may be skipped if that number is higher. A job that
//     exceeds a limit fails.
//   - For each worker: [wire.MaxNodes] held nodes, which count as tree nodes of their jobs.
//   - For each job: the names of 16 builds of workers.
//   - For each job: the first KiB of at most ten errors; other errors are only counted.
//   - For each job: one call of Plan, one of Finish, and at most one of Merge for each pair of finished
//     siblings. A worker has at most 48 calls, and a receipt at most 512 KiB of their operands, unless it has
//     only one call.
//   - For unknown jobs: at most 100 lookups at a time, and the IDs of the last 4,096 jobs that ended. The
//     caller bounds the numbers of parked and of active jobs.
//
// The memory that a step allocates is proportional to its event. The worst possible report makes a
// step allocate about 100 MB: each of its items begins a new path in the deepest possible tree.
//
// # What can fail
//
//   - A worker is silent for Config.SilentAfter, or there is a [WorkerDied] event for it: the worker is
//     removed. If the worker's process is alive after all, it comes back with a hello, and keeps those of its
//     partitions that are still queued.
//   - A report or its receipt is lost: the worker repeats the report. A lost [Nudge] or
//     [Probe] only causes a delay.
//   - All workers of the build to which a job is pinned leave: the job waits, and its Trouble names
//     the build for which it waits.
//   - A merge in the leader returns an error: the job fails, because the same operands would fail again. The
//     merge exceeds its time limit ([MergeSlow]): workers do the job's merges.
//   - A call fails: see the section "Where a call is". If storage refuses the plan that a call has returned
//     ([PlanRefused]), the job fails.
//   - Code of a job does not return, so that a slot or a call of a worker is lost: the worker has
//     one slot or call less, and the failure that it reports counts as an attempt.
//   - A checkpoint fails: the ledger does not learn of this, because a leader that cannot write steps down and
//     its ledger is discarded.
//   - The leader dies: the next leader begins with the last durable [Snapshot]. Partitions that the
//     other workers hold, or whose results they keep, are not run again.
package ledger

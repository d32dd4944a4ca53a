// Package ledger makes all decisions of a leader: which partitions are finished,
// which worker has what, and what to do next. It is internal to package coordinator.
//
// The ledger is a state machine without a clock, I/O or goroutines. Its caller, package
// term, passes in events and performs the actions that Step returns:
//
//	Step(now, Event) []Action
//
// The same events give the same actions, so a failure can be replayed, and whole clusters
// run in a test within milliseconds. The ledger names partials by a [Ref] and never sees
// their bytes. The ledger's size grows with the number of workers and of their
// assignments, not with the number of partitions.
//
// # A job
//
// A job has no partitions until it is planned. Workers run the partitions, and make the calls
// of Plan and Finish:
//
//	JobAdded ─▶ call of Plan ─▶ StorePlan ─▶ JobPlanned ─▶ partitions, merges ─▶ call of Finish ─▶ EndJob
//
// The leader merges finished siblings. It runs no other code of a job. Workers merge in its
// place, in calls of Merge,
//
//   - if a partial is large, unless all workers run a program that holds none,
//   - if the leader's program does not have the job's definition,
//   - for 10 s after the last leader died or fell silent, since a merge may have killed it,
//   - if a merge of the job has taken the leader too long, or has killed a worker.
//
// # Where a partition is
//
// Every partition of an active, planned job is in exactly one place:
//
//	                            assigned            reported
//	fresh, failed, crash suspect ───────▶ assigned ───────────▶ finished
//	  ▲      ▲       ▲                      │                      ▲
//	  │      │       └──── worker died ─────┤                      │
//	  │      └──────────── failed ──────────┤                      │ skipped
//	  └─ given back, cut, worker silent ────┴──────────────────────┘
//
// The first three places are the job's queue:
//
//   - fresh: no worker has the partition.
//   - failed: the partition's last attempt returned an error. The partition is retried
//     alone after a backoff, on another worker if there is one. At the limit of attempts
//     the partition is skipped, or the job fails.
//   - crash suspect: a worker died while the partition was assigned to it. A span of
//     crash suspects runs again in pieces of one eighth. A single partition that was
//     assigned to two workers that died is quarantined: it runs alone, on a worker
//     reserved for quarantined partitions and calls. After at most three more deaths the
//     partition is blamed.
//
// The other two places are:
//
//   - assigned: the partition is in an assignment of a worker. If it is late, a second
//     worker runs a speculative copy. The first result wins and the other is dropped.
//   - finished: a finished node covers the partition. The node has a partial, or none if
//     all of the node's partitions were skipped.
//
// # The trial of a job
//
// A job begins on trial, since it may kill each worker that begins it. Two workers, not the
// leader's own, get partitions. Once one of them has opened the job, the number of workers
// doubles every 100 ms. If a worker dies, one crash suspect is quarantined at once, and no
// other partition of the job is assigned. So a job whose Open ends the process ends five. The
// trial is over when a partition is finished or has run for 2 s.
//
// The worker of a quarantined partition reports each function before it calls the function.
// So the job's error names the function that ended the processes.
//
// # Where a large partial is
//
// A large partial stays with the worker that made it. Each report lists the nodes that the
// worker holds, as it lists its spans, and the ledger trusts the list:
//
//		           computed,        merged into          written to      checkpoint
//		missing ───────────▶ held ◀──────────── operands    │
//		   ▲                  │  ────────────────────────────┴▶ stored ───────────▶ durable
//		   └─ holder died, or │
//		      lost the node ──┘
//
//	  - held: a worker holds the partial, and the caller does not have it. Below the node stay
//	    the finished nodes of which another worker or the caller has the partial. If the holder
//	    dies they take its place, and only what the holder alone had is missing again. The merge
//	    of large siblings is a call, assigned to a worker that holds an operand; it fetches the
//	    other operand from its holder. That worker's own operand is released at once, since it
//	    would be lost together with the result.
//	  - stored: the caller has the partial too, in a blob. What stays below stays until the node
//	    is durable, since the next leader does not know the blob yet.
//	  - durable: what stayed below is released. The holder keeps the partial for its merge.
//
// A holder is told to store a node if it drains, if another worker could not fetch the node,
// or if the work that its death would cost is worth the write (see worthStoring).
//
// What can fail, step by step:
//
//	the holder dies, or is silent     the node's partitions are missing again, except those of
//	                                  nodes below it
//	… while another worker fetches    the call is withdrawn, and the fetch fails. If the fetch
//	  the node                        was complete, the result is held by the other worker and
//	                                  finishes the node's parent
//	a fetch stops half-way, or the    the call is made again after a moment; the holder is probed
//	bytes are damaged                 and stores the operand, which is then read from storage
//	the holder loses a node           its next report does not list it: as if the holder had died
//	a report with nodes is lost       it is repeated unchanged; the list is the whole state
//	an order to release or store      the node is listed again, and the order is given again
//	is lost with its receipt
//	a leader dies                     the first report to the next one lists all held nodes
//	… before a stored node is         the holder reports the blob again; if it has died too, what
//	  durable                         stays below the node at other holders takes its place
//	a merge returns for an earlier    the result is taken, unless it lacks other partitions than
//	leader                            this leader has skipped
//	two workers hold one node         the second is told to release it
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
// Calls are retried, quarantined and blamed like partitions:
//
//   - A call that returned an error is queued again after a backoff, for another worker if
//     there is one. At the limit of attempts, or if the error is permanent, the job fails.
//   - A call whose worker died is quarantined at once. After at most three more deaths the
//     call is blamed, and the job fails.
//   - A call that has not begun is taken back if its worker has more calls than it can run
//     and another worker can begin it, or if its node is finished in another way.
//   - A merge that the leader has given up is a call too. It may kill the leader yet, so the
//     manifest says that the leader has begun it.
//   - The leader's own worker makes a call only if no other worker can make it, or if no other
//     worker can begin it for 5 s.
//
// A plan is accepted from a call of any leader. A merge or a result that was computed for an
// earlier leader is dropped, and the call is made again: that leader may have skipped other
// partitions than this one.
//
// # Assignments
//
// An assignment is a unit of work given to a worker: a span of partitions, or a call. Each
// report lists the assignments that the worker holds, and the ledger trusts this list.
// Partitions of an assignment that the worker neither finished nor holds any more go back to
// the queue, and so does a call. If a report lists a span that this leader did not assign, the
// worker keeps the part that is still queued. The worker also keeps a call of Plan that an earlier
// leader assigned, if the job has no plan yet. Any other call that an earlier leader assigned is
// taken back.
//
// A report also gives the numbers of the worker's lost slots and calls. Code occupies a lost slot
// or call although the report lists no assignment for the code, because the job has ended or the
// code does not return. A worker gets assignments only for the slots and calls that are left.
//
// A report may name a job that this ledger does not have: a job that ended, a job that
// the caller never loaded, or a job that an earlier leader started after this leader
// listed the active jobs. The ledger asks its caller, and tells the worker to drop the
// job's items and spans only if the job ended. A worker on another storage has jobs of
// which this leader's storage knows nothing, so the ledger refuses the worker's hello.
//
// # A term
//
//	New ─▶ JobAdded for each active job ─▶ recovery ─▶ dispatch ─▶ Stopping ─▶ AllDurable
//
// # Promised order
//
//   - Recovered before assigned: nothing is assigned until every worker named in a
//     manifest has reported its spans or is dead, or Config.RecoveryTimeout is over.
//   - Durable before acknowledged: a receipt calls an item durable only after the
//     [Checkpointed] event of a [Checkpoint] that was requested after the item was received.
//   - Written ahead: in a job that may have killed a leader, an assignment to the
//     leader's own worker is sent only after a checkpoint that names it is durable. If
//     the assignment kills this leader too, the next leader knows which assignment ran.
//   - Pinned before assigned: a job with Spec.StrictBuilds is restricted to one build of the
//     workers' program. Its work is assigned only after a checkpoint that names the build is
//     durable, so all leaders keep to the build.
//   - Planned before assigned: partitions are assigned only after [JobPlanned], so all
//     leaders cut the job in the same way.
//   - Ended before told: a worker learns of a job's end only after [JobEnded].
//   - Skipped before merged: a merge of nodes that lack skipped partitions is assigned only
//     after a checkpoint that lists these is durable, so that every later leader takes the
//     result.
//   - Durable before released: a holder is told to release an operand of another worker's merge
//     only after a checkpoint with the result is durable.
//   - Once: a repeated report gets the same receipt. The items of a worker are taken in
//     the order of their numbers, and each item counts once, even across leaders.
//   - In order: the caller begins the actions of one step in their order. A later action
//     may drop a partial that an earlier action names, so the caller looks up an action's
//     refs when it begins the action.
//
// # Bounds
//
// Reports may come under any number of worker names and may be false. The ledger bounds
// the memory that reports can make it use:
//
//   - Config.MaxWorkers workers, each with at most what [wire.Report]'s Validate allows.
//     A worker that falls silent is removed.
//   - The item numbers of about 10,000 departed workers, for ten minutes each.
//   - For each job, Config.MaxTreeNodes tree nodes, Config.MaxFailing failed partitions,
//     or the number of partitions that may be skipped if that is higher, and
//     Config.MaxSkipped skipped ones. A job that exceeds a limit fails.
//   - For each worker, [wire.MaxNodes] held nodes, which count as tree nodes of their jobs.
//   - For each job, the names of 16 builds of workers.
//   - For each job, the first KiB of at most ten errors; other errors are only counted.
//   - For each job, one call of Plan, one of Finish, and at most one of Merge for each pair
//     of finished siblings. A worker has at most 48 calls, and a receipt at most 512 KiB of
//     their operands, unless it has only one call.
//   - For unknown jobs, 100 lookups at a time, and the IDs of the last 4,096 jobs that
//     ended. The caller bounds the numbers of parked and of active jobs.
//
// A step allocates in proportion to its event. The most expensive report costs about
// 100 MB: each of its items starts a path in the deepest tree.
//
// # What can fail
//
//   - A worker: it is silent for Config.SilentAfter, or a [WorkerDied] event names it. If
//     the worker is alive after all, it comes back with a hello and keeps its partitions
//     that are still queued.
//   - A report or its receipt is lost: the worker repeats the report. A lost [Nudge] or
//     [Probe] only causes a delay.
//   - All workers of the build to which a job is pinned leave: the job waits, and its
//     Trouble says for which build.
//   - A merge in the leader returns an error: the job fails, since the same operands would
//     fail again. The merge takes too long ([MergeSlow]): workers merge for the job.
//   - A call: see above. Storage refuses the plan that it returned ([PlanRefused]): the job
//     fails.
//   - A slot or a call of a worker is lost: the worker has fewer, and the failure that the
//     worker reports counts as an attempt.
//   - A checkpoint never fails here. A leader that cannot write steps down, and its
//     ledger is discarded.
//   - The leader: the next one starts from the last durable [Snapshot]. Partitions that
//     the other workers hold, or whose results they keep, are not run again.
package ledger

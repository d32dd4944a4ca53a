// Package session is a worker's side of the conversation with its leader. The session
// decides when the worker reports and what a report contains, and how the worker retries,
// follows a new leader, drains and leaves. The session keeps track of the assignments that
// the worker holds (spans of partitions, and calls of a job's Plan, Merge and Finish), of
// their progress, and of the items that are not durable yet. The package is internal to this
// module.
//
// [Session] is a state machine without a clock, a goroutine or I/O, and nothing in it
// depends on the order of a map. The real worker (worker/executor), the simulator
// (bench/sim) and the scale benchmark (bench) call the session and perform its actions.
//
//	        caller: NATS, timers                     slots, tasks
//	              │        ▲                              │
//	       inputs │        │ actions                      │ direct calls
//	    Connected │        │ SendReport, ResendReport     │ Take, Claim, HandOver,
//	  LeaderHeard │        │ AskLeader                    │ Deliver, Abandon, Release
//	       Nudged │        │ CollectFromSlots             │ Opened, OpenFailed
//	   RecordRead │        │ ReadRecord                   │
//	 ReceiptHeard │        │ OpenJob, EndJob, WakeSlots   │
//	 NoResponders │        │ CancelRunning, Leave         │ TakeCall, Return, AbandonCall
//	  Drain, Tick ▼        │ notices                      ▼ Lose, LoseCall
//	┌─────────────────────────────────────────────────────────────────┐
//	│ leader: epoch, connection    conversation: numbers, in flight   │
//	│ schedule: when to report     drain: when to cancel, to leave    │
//	│ work: spans and calls held, items kept until they are durable   │
//	└─────────────────────────────────────────────────────────────────┘
//
// Direct calls return no actions. If a direct call makes a report or another action due,
// [Session.NeedsStep] returns true, and the caller must then call [Session.Step] with a
// [Tick].
//
// # Calls and lost slots
//
// Calls run beside the slots, as many at a time as there are slots, so that no call waits for
// a long partition. [MakeCall] makes a call. Its item, or its failure, goes the way of the
// items of spans. The leader that assigned a call may be gone when the call returns: the item
// names the leader's epoch, and the present leader decides.
//
// A goroutine cannot be stopped. If the code of a partition or a call does not return although
// it was cancelled, its slot or its call is lost until the code returns after all. Each report
// gives the numbers of slots and calls that run code without an assignment in the report, because
// the slot or call is lost or its job has ended. The leader assigns work only for the other slots
// and calls.
//
// # Held nodes
//
// A large partial stays with the worker: the caller keeps its bytes, and the session lists the
// node in every report, until the leader releases the node, the job ends, or the caller loses
// it. The item that comes with a node only counts the partitions that were executed, so that
// it may become durable although the node is not. A node that another worker needs, or whose
// work is worth it, is written to storage on the leader's order; then an item names the blob.
//
//	          Deliver, ReturnHeld            StoreNode          NodeStored
//	computed ────────────────────▶ held ─────────────▶ storing ───────────▶ stored ─▶ durable
//	                                 │                                                  │
//	                                 └── DropNode, EndJob, NodeLost ◀───────────────────┘
//
// The slots of a job whose partials are large deliver at the end of a span only. Deliveries in
// between would cut a subtree into smaller nodes, and make nothing durable.
//
// # Which leader a worker follows
//
// A worker follows the highest epoch that it has heard from a leader on its own storage, so
// that it obeys no deposed leader. An epoch that no leader has, from a program that errs or
// means harm, would make the worker deaf to the real leader. So a report that stays without a
// receipt for [Timing.RecordAfter] makes the session ask for the epoch in the lease's record,
// and the session then follows that epoch, even if it is lower.
//
// This makes no worker obey a deposed leader. A leader's epoch is in the record before the
// leader sends its first message, and epochs in the record only grow. So a read that begins
// after a worker has heard a real leader shows that leader's epoch or a higher one. A worker
// ignores the answer if it has turned to another leader since the read began. If a storage
// that breaks its contract shows an old record, the worker talks to a deposed leader until
// the next beacon of the new one, and loses only time: the deposed leader's writes fail
// because its manifests are fenced, so it can neither call an item durable nor end a job.
//
// # When a session reports
//
// A report is made when its interval has passed, or earlier if something is urgent (a span
// or its job is at an end and work runs short, a failure, a cut, a call that returned, a slot
// that is lost or comes back, the next function of a span that runs alone) or the leader nudges. A
// report is never made sooner than [Timing.Spacing] after the last report, and never while
// a report is in flight. Before a report that is due by the interval, by a nudge or while
// draining, the session asks slots for their results. The session waits for these results
// for at most [Timing.HandOver].
//
// # Invariants
//
//   - Every partition of an assigned span is in exactly one of: a held span, an
//     item that was delivered, or a part that was given up on purpose (a cut, a job
//     that ended or could not be opened, a drain, a slot that was lost).
//   - Every assigned call is in exactly one of: a held call, an item, or a call that was
//     given up (a cut before it began, a job that ended, a drain before it began, a
//     cancellation).
//   - The items of a job are numbered 1, 2, 3, … without a gap, and each is kept
//     until a leader says that it is durable or that the job has ended.
//   - A report that lists the held spans and calls contains, together with the earlier reports,
//     every item that was delivered. So a span never moves on ahead of its items, and no call
//     disappears before its item. If they do not all fit, reports say that more follows and
//     leave out the spans and calls.
//   - A cut takes no partition that is claimed. A claimed partition is delivered, or
//     goes back to the queue when its slot releases the span.
//   - A report is resent unchanged until it has its receipt, the leader refuses it,
//     or a higher epoch is heard. Then the next report is the first of another
//     conversation and has every item that is not known to be durable.
//   - A report that lists the held spans lists every held node, as of the same instant: a span
//     never moves on ahead of its nodes, and a call that has returned a node disappears together
//     with the node's first appearance.
//   - A worker that drains leaves when no slot and no call runs, except lost ones, and all
//     of its items and nodes are durable, unless the drain timeout has passed.
//
// # What can fail
//
//	failure                        what the session does                               script in testdata
//	no leader is known             asks who leads, once a second                       no-leader
//	the leader is dead             backs off to 1 s, asks who leads, works on          leader-dies
//	a report or receipt is lost    resends after 1 s, the same bytes                   receipt-lost
//	a receipt is stale or invalid  ignores it; the report stays in flight              receipt-stale
//	an order makes no sense        ignores it alone                                    receipt-stale
//	another storage's leader       ignores it; its receipts too, the report stays      other-storage
//	                               in flight
//	the leader refuses             starts over, after 10 ms to 1 s                     refused
//	a higher epoch is heard        drops the report in flight, tells the new leader    higher-epoch
//	an epoch that no leader has    reads the lease's record after 5 s, and follows     high-beacon
//	                               that epoch
//	the connection is lost         sends nothing; resends once it is back              disconnected
//	a slot runs a long partition   reports without it after 5 ms                       slots-late
//	a report comes between a       does not call the slot lost                         slots-between
//	slot's delivery and release
//	a partition does not return    reports its failure, gives the span back, and says  slot-lost
//	                               that the slot is lost
//	a call fails or is cancelled   reports the failure; no longer lists the call       calls
//	a call does not return         reports its failure, and says that it is lost       call-lost
//	a call is taken back           drops it if it has not begun                        call-cut
//	items do not fit               sends the rest at once, if the leader takes them    items-split
//	nothing becomes durable        begins no partition beyond [Config.MaxKept]         memory-full
//	the leader knows of no held    holds none: the caller writes them to storage        held-older-leader
//	nodes
//	a held node is lost            no longer lists it                                 held
//	draining with held nodes       leaves once they are durable                       held-drain
//	a job cannot be opened         reports it and gives up the job's spans             open-fails
//	a job ends while it runs       drops all of it; late deliveries are ignored        job-ends,
//	                                                                                   call-job-ends
//	code ends the process, in a    tells the leader of each function before it is      alone
//	span that runs alone           called
//	draining while calls run       keeps their items until these are durable           drain-call
//	draining with lost slots       leaves without them                                 drain-lost
//	draining takes too long        cancels, and leaves a second later                  drain-too-long
package session

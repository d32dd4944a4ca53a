// Package session is a worker's side of the conversation with its leader. The session decides when
// the worker reports and what a report contains, and how the worker retries, follows a new leader,
// drains and leaves. The session keeps track of the worker's held assignments (spans of partitions,
// and calls of a job's Plan, Merge and Finish), of their progress, and of the items that are not
// durable yet. Package session is internal to Bellwether.
//
// [Session] is a state machine without a clock, a goroutine or I/O, and does not depend on the
// iteration order of maps. The real worker (package executor), the simulator (bench/internal/sim) and
// the scale benchmark (bench) call the session and perform its actions.
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
// Direct calls of slots and tasks return no actions. If a direct call makes a report or another
// action due, [Session.NeedsStep] returns true, and the caller must then call [Session.Step] with a
// [Tick].
//
// # Calls and lost slots
//
// Calls do not occupy slots, so that no call waits for a long partition. The number of calls that
// run at the same time is at most the number of slots. The item with a call's result or failure is
// reported like the items of spans. The leader that assigned a call may have been replaced when the
// call returns. The item therefore contains the epoch of the assigning leader, and the current
// leader decides whether it uses the result.
//
// A goroutine cannot be stopped. If the code of a partition or a call does not return after it was
// cancelled, its slot or call is lost until the code returns. Each report contains the numbers of
// slots and calls with code of lost or ended assignments. The leader assigns no work for lost slots
// and calls.
//
// # Held nodes
//
// A large partial stays with the worker: the caller keeps the bytes, and the session lists the node
// in every report, until the leader releases the node, the job ends, or the caller loses the
// partial. The item of a held node only counts the executed partitions, so the item may become
// durable before the node. The leader may order the worker to write a held partial to storage,
// because another worker needs the partial, or because computing it again would cost more than the
// write. After the write, a further item contains the name of the blob.
//
//	          Deliver, ReturnHeld            StoreNode          NodeStored
//	computed ────────────────────▶ held ─────────────▶ storing ───────────▶ stored ─▶ durable
//	                                 │                                                  │
//	                                 └── DropNode, EndJob, NodeLost ◀───────────────────┘
//
// If a job's partials are large, slots deliver results only at the end of a span. Earlier
// deliveries of large partials would split a subtree into smaller nodes, and would not make
// anything durable.
//
// # Which leader a worker follows
//
// A worker follows the highest epoch in any message of a leader on its own storage, so that it does
// not obey a deposed leader. A faulty or malicious program could send a higher epoch, which no
// leader has, and the worker would then ignore the real leader. If a report gets no receipt for the
// time [Timing.RecordAfter], the session therefore reads the epoch in the lease's record, and
// follows this epoch even if it is lower.
//
// Following the lease's record does not make a worker obey a deposed leader. A leader's epoch is in
// the record before the leader sends its first message, and epochs in the record only grow. If a
// real leader has sent the worker a message before the read began, the read therefore returns that
// leader's epoch or a higher one. If the worker has switched to another leader since the read
// began, the worker ignores the result of the read. A faulty storage may return an old record. The
// worker then follows a deposed leader until the next beacon of the new leader, which only causes a
// delay: the deposed leader can neither make an item durable nor end a job, because manifests are
// fenced.
//
// # When a session reports
//
// A report is sent when the interval has passed, when the leader sends a nudge, when work is running
// short at the end of a span, or when something is urgent. The urgent events are: the end of a span
// after which the worker holds no other of its job, a failure, a cut, the return of a call, a slot
// that is lost or usable again, and the next function of a span that runs alone. While spans or
// calls are held, a report is not sent sooner than [Timing.Spacing] after the last report, because a
// later report contains more results. If work is running short, and the leader has many workers and
// has therefore set a longer interval than [Timing.Interval], it is not sent sooner than an eighth of
// the difference: at the end of a job, all slots of a large cluster end their last spans within
// seconds. A report is never sent while a report is in flight. If the reason for a report is the interval, a
// nudge or draining, the session first asks slots for their results. The session waits for the
// slots' results for at most [Timing.HandOver].
//
// # Invariants
//
//   - Every partition of an assigned span is in exactly one of three places: a held span, a
//     delivered item, or a part that the worker gave up because of a cut, a drain, a lost slot, or
//     a job that ended or could not be opened.
//   - Every assigned call is in exactly one of three states: held, ended with an item, or given up
//     because of a cut or a drain before it began, the end of its job, or a cancellation.
//   - The items of a job are numbered 1, 2, 3, … without a gap, and each item is kept until a leader says that
//     the item is durable or that the job has ended.
//   - A report that lists the held spans and calls contains, together with the earlier reports,
//     every item that was delivered. A span is therefore never reported as shorter before its items
//     are reported, and a call never disappears before its item. If not all items fit into a
//     report, the report announces that more follow and omits the spans and calls.
//   - A cut removes only partitions that no slot has claimed. A claimed partition is delivered, or goes back to
//     the queue when its slot releases the span.
//   - A report is resent unchanged until its receipt arrives, the leader refuses it, or the worker
//     hears of a higher epoch. After a refusal or a higher epoch, the next report is the first of
//     another conversation and contains every item that is not known to be durable.
//   - A report that lists the held spans also lists every held node at the same time. A report
//     therefore shows a span as shorter only if it lists the nodes of the removed part, and omits a
//     finished call only if it lists the call's node.
//   - A worker that drains leaves when no slot and no call runs (lost ones do not count) and all of
//     its items and nodes are durable, or when the drain timeout has passed.
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
//	a held partial is replaced     does not tell the leader of the blob               held-replaced
//	while it is written
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

// Package wire says what the processes of a cluster tell one another over NATS:
// the subjects, and the messages as they are encoded.
//
//	           Beacon(): Beacon ─────────────────────▶ everyone
//	           Nudge(worker): Nudge ─────────────────▶
//	           Probe(worker): Probe ─────────────────▶
//	                          ◀───────── ProbeAnswer
//	           Offer(worker): Offer ─────────────────▶
//	leader     Report(epoch): ◀────────────── Report   worker
//	                          Receipt ───────────────▶
//	           Ping(epoch):   ◀──────────────── Ping   follower
//	                          Pong ──────────────────▶
//	           Ask(what):     ◀──── JobQuery, Cancel   command line
//	                          Jobs, Workers, … ──────▶
//
//	follower   Suspicion(): Suspicion ───────────────▶ the other followers
//
// # Worker and leader
//
// A worker has one report under way at a time. It sends the same bytes again
// until their receipt comes, and the leader answers a report that comes again
// with the same receipt. So both directions are reliable and in order: every
// report is taken once, and every order in a receipt (Opens, Assigned, Cuts) is
// carried out once. All else that a leader wants it writes into the next
// receipt; a Nudge asks for that to be soon.
//
// The first report to a leader has Sequence 1 and Hello, and repeats whatever is
// not durable. Where the items are too many for one message, it says that there
// are More, leaves out Spans, and the next follows at once. So whenever a report
// has Spans, the partitions of each span that the worker was assigned are exactly
// those of the items reported so far and of the held span: it moves on, or
// vanishes, only together with its items. Partitions in neither were given up (the
// job could not be opened there, the span was cut, the worker drains), and the
// leader plans them again. A failed attempt is an item like a finished node, and
// stands for its partition.
//
// A worker numbers its items of each job from 1, whoever leads. JobReport.First
// may be above what a leader has only where what is between was dropped because a
// leader said that the job had ended. A receipt's Received may stay below what
// was reported: the next report repeats what is above it.
//
// A receipt with Refused orders nothing. The worker then starts over, after a
// while, with another Conversation, Sequence 1 and Hello. A leader that gets an old
// hello once more, late, knows it by its Conversation and lets it be: the worker would
// not carry out what that was answered with.
//
// # Failures
//
// [Decode] refuses a message of an unknown format version with
// [ErrUnknownVersion] and anything else it cannot read with [ErrMalformed]; so do
// the Validate methods with what is readable and senseless. Whoever receives such
// a message drops it with a line in the log. A message of an epoch below the
// highest seen is dropped too; one above it is followed, where it comes from a
// leader. Messages may be lost, repeated and delayed.
//
// # Bounds
//
// What one message can make its receiver allocate is bounded by the message's
// length, which is at most [MaxMessage]: see [Decode]. Beyond that, Validate
// bounds what a report makes the leader look at and keep: [MaxSpans] spans,
// [MaxJobs] jobs and [MaxItems] items in all, and of each worker, for as long as it
// is there, [MaxKinds] definitions with names of [MaxName] bytes. Honest workers
// stay well below all of them. How many workers there may be, and what is kept of
// those that are gone, is the ledger's to bound.
package wire

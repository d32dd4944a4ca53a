// Package wire defines the messages that the processes of a cluster exchange over
// NATS, their encoding and their subjects. It is internal to Bellwether and public only
// because packages all over the module use it.
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
//	           Ask(what):     ◀──── JobQuery, Cancel   client
//	                          Jobs, Workers, … ──────▶
//
//	follower   Suspicion(): Suspicion ───────────────▶ the other followers
//
// # Worker and leader
//
// A worker has one report in flight at a time. It resends the same bytes until the
// report's receipt arrives, and the leader answers a repeated report with the same
// receipt. So both directions are reliable and in order: each report is processed once,
// and each order in a receipt (Opens, Assigned, Cuts) is carried out once. The leader
// puts new orders into the next receipt. A Nudge asks the worker to report now.
//
// The first report to a leader has Sequence 1 and a Hello, and repeats all items that
// are not durable. If the items do not fit in one message, the report has More set and
// no Spans, and the next report follows at once. If a report has Spans, each partition
// of an assigned span is in the held span, in an item reported so far, or given up. A
// held span shrinks or disappears only together with the report of its items. The worker
// gives up partitions if the job could not be opened, the span was cut or the worker
// drains. The leader reassigns these partitions. A failed attempt is an item like a
// finished node and accounts for its partition.
//
// A partial that is too large for a message stays with the worker, if both sides know how
// (Hello.Holds, Receipt.Holds). Report.Nodes lists all such partials, in the reports that have
// Spans. An item with Held counts what was executed for one. A call's operand may name a Holder,
// from which the worker fetches the bytes: see package worker/internal/bulk. If a leader of an
// earlier program follows one that knows held nodes, it ignores Nodes and assigns their
// partitions again, and it refuses reports with items that it does not know.
//
// A worker numbers its items of each job from 1 and continues the numbers under the next
// leader. There may be a gap between the items that a leader has and JobReport.First only
// if the worker dropped the items in the gap because a leader said that the job had
// ended. If a receipt's Received is below the number of the last reported item, the next
// report repeats the items above Received.
//
// A receipt with Refused contains no orders. The worker then starts over, after a
// pause, with a new Conversation, Sequence 1 and a Hello. If a Hello of an earlier
// conversation arrives late, the leader recognizes its Conversation and ignores the
// report, because the worker would not carry out the orders in the receipt.
//
// # Storage
//
// Two fleets of one cluster name may share a NATS although their storage differs, or a
// worker may be started with another storage than its fleet's. Their epochs are unrelated
// and may be equal. So messages name the sender's storage by its identity, which is in
// Storage. A receiver on another storage ignores the message, except that a leader refuses
// a Hello with the reason. Without an identity the message comes from a program that does
// not send any, and is taken: see [SameStorage].
//
// # Failures
//
// [Decode] returns [ErrUnknownVersion] for a message of an unknown format version and
// [ErrMalformed] for any other message that it cannot read. The Validate methods return
// ErrMalformed for messages that can be read but make no sense. Receivers log and drop
// unreadable and invalid messages. A receiver drops a message whose epoch is below the
// highest epoch that the receiver has seen. If a leader's message has a higher epoch, the
// receiver follows that epoch. Messages may be lost, repeated and delayed.
//
// # Bounds
//
// The memory that decoding a message takes is bounded by its length, which is at most
// [MaxMessage]: see [Decode]. Validate bounds what the leader processes and keeps for
// one report: [MaxSpans] spans, [MaxNodes] held nodes, [MaxJobs] jobs, [MaxItems] items in all, and for each
// worker [MaxKinds] definitions with names of [MaxName] bytes. Correct workers stay well
// below all of these bounds. The ledger bounds the number of workers and the state that
// it keeps about workers that have left.
package wire

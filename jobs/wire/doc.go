// Package wire defines the messages that the processes of a cluster exchange over NATS, their
// encoding and their subjects. The package is internal to Bellwether. The package is not in an
// internal folder because packages in all parts of the module use it.
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
//	           Ended(job):    no content ────────────▶
//
//	follower   Suspicion(): Suspicion ───────────────▶ the other followers
//
// # Worker and leader
//
// A worker has one report in flight at a time. The worker resends the same bytes until the report's
// receipt arrives, and the leader answers a repeated report with the same receipt. Retries and
// repeated receipts make the delivery of reports and receipts reliable and ordered. Each report is
// processed once, and each order in a receipt (Opens, Assigned, Cuts) is carried out once. The
// leader puts new orders into the next receipt. A Nudge asks the worker to report now.
//
// The first report to a leader has Sequence 1 and a Hello, and repeats all items that are not
// durable. If the items do not fit in one message, the report has More set and no Spans, and the
// next report follows at once. A report with Spans accounts for each partition of an assigned span.
// The partition is in the held span, in an item of this or an earlier report, or the worker has
// returned the partition to the leader. A held span shrinks or disappears only together with the
// report of its items. A worker returns partitions if the job could not be opened, if the span was
// cut, or if the worker drains. The leader reassigns returned partitions. A failed attempt is an
// item like a finished node and accounts for its partition.
//
// A partial that is too large for a message stays with the worker, if the worker and the leader
// support held partials (Hello.Holds, Receipt.Holds). Each report that has Spans also lists all
// held partials, in Report.Nodes. An item with Held only counts the executions that a held partial
// contains. An operand of a call may name a Holder, from which the worker fetches the bytes with
// package worker/internal/bulk. A leader of an earlier version does not support held nodes: it
// ignores Nodes, assigns their partitions again, and refuses reports with unknown items.
//
// A worker numbers its items of each job from 1 and continues the numbers under the next leader. There may be a
// gap between the items that a leader has and the item JobReport.First. A gap is possible only if the worker
// has dropped the missing items because a leader said that the job had ended. If the number Received in a
// receipt is below the number of the last reported item, the next report repeats the items after Received.
//
// A receipt with Refused contains no orders. After a refusal the worker pauses and starts a new
// Conversation with Sequence 1 and a Hello. If a Hello of an earlier conversation arrives late, the
// leader recognizes the old Conversation and ignores the report.
//
// # Storage
//
// By mistake, two clusters with the same name may share a NATS server but use different storage, or
// one worker may use another storage than the rest of its cluster. Epochs in different storages are
// unrelated and may be equal. Messages therefore contain the identity of the sender's storage, in
// the field Storage. A receiver on another storage ignores the message; only a leader that receives
// a Hello answers with a refusal and the reason. A message without an identity comes from an
// earlier version and is accepted ([SameStorage]).
//
// # Ends of jobs
//
// When the end of a job is durable, the leader sends a message without content to Ended(job). A
// client that waits for the job then reads storage at once. The message states nothing: a lost
// message only causes a delay until the client's next regular read, and a false message only causes
// one additional read. An older leader does not send the message, and a client may lack the
// permission to receive it.
//
// # Failures
//
// [Decode] returns [ErrUnknownVersion] for a message of an unknown format version and
// [ErrMalformed] for any other message that it cannot read. The Validate methods return
// ErrMalformed for messages that can be read but are not valid. Receivers log and drop unreadable
// and invalid messages. A receiver drops a message whose epoch is below the highest epoch that the
// receiver has seen. If a leader's message has a higher epoch, the receiver follows that epoch.
// Messages may be lost, repeated and delayed.
//
// # Bounds
//
// The memory for decoding a message is bounded in proportion to its length, which is at most
// [MaxMessage]. Validate bounds the work and the memory that one report causes: [MaxSpans] spans,
// [MaxNodes] held nodes, [MaxJobs] jobs, [MaxItems] items in all, and for each worker [MaxKinds]
// definitions with names of [MaxName] bytes. Correct workers stay well below all of these bounds.
// Package ledger bounds the number of workers, and the state that a ledger keeps about workers that
// have left.
package wire

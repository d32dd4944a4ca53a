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
// The conversation with the leader is in package worker/session; the link passes inputs to the session and
// performs its actions. A slot claims as many partitions of its span as will take about a millisecond, but at
// least one, and runs them without locking the session. The overhead per partition is therefore small, and cuts
// and priorities take effect within a millisecond or at the next partition. When a report is due, a flag asks
// each slot to hand over its results after the current partition. The report does not wait for slots with long
// partitions. A slot delivers its results only up to a boundary of the tree, and keeps the results of the last
// few partitions for its next delivery. So a few tree nodes cover the delivered partitions, and the leader
// receives and merges only these nodes.
//
// # Leaders
//
// The worker follows the leader with the highest epoch in any message so far. If that leader does not answer
// for some seconds, the worker follows the epoch in the lease's record: see package session. Without a leader,
// the worker continues to run the spans that it holds, and keeps their results. The worker sends a new leader
// every result that may not be durable, so no result is computed again. The worker keeps at most about 256 MiB
// of results. If nothing becomes durable before this limit is reached, the worker starts no further partition.
//
// # Large partials
//
// A partial above 256 KiB stays in the worker: see package worker/session. Package
// worker/internal/holdings bounds the memory that such partials, and operands and results of
// merges, take, and moves partials to files above the limit. If memory is short, slots wait.
// Package worker/internal/bulk sends partials to other workers and fetches operands from them, on a
// connection that is used for nothing else. Without [Config.Bulk], and for leaders of earlier
// versions, large partials are written to storage instead.
//
// # What can fail
//
//   - A partition fails: the failure is reported, and the span continues with the next partition.
//   - A job cannot be opened: the failure is reported, and the leader assigns the job's spans
//     again. The first call of Fork is part of opening, so that a Fork that does not return does
//     not occupy a slot.
//   - A job's code ends the process: if a span runs alone, the worker reports each function before
//     it calls the function, and waits until the leader has got the report. So the leader knows
//     which function ended the process.
//   - An operand cannot be fetched from its holder, or its bytes are damaged: the call does not
//     begin, and the worker reports this with the holder's ID.
//   - A merge fails after it has taken over operands that the worker holds: the worker keeps the operands that
//     the merge has not changed. The partitions of the changed operands run again, and the next attempt merges
//     copies, so each merge loses operands at most once.
//   - A held partial cannot be read back from the spill folder: the worker no longer lists the partial in
//     reports, and the partial's partitions run again. A held partial is too large for storage: the worker logs
//     this, and the partial is lost if the worker ends.
//   - Storage does not answer: writes of large partials and attachments and reads of plans are
//     retried until storage answers; the slot waits.
//   - For failures of NATS and of the leader see package session.
//   - A message is malformed: the message is ignored, and some of these events are logged.
//   - A job's code does not return: Run returns [ErrStuck].
//
// If the process dies, other workers compute its lost results again.
package executor

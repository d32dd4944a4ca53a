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
// The conversation with the leader is package worker/session; the link feeds it and
// performs its actions. A slot claims as many partitions of its span as take about a
// millisecond, or one if a single one takes longer, and runs them without taking the lock.
// The overhead per partition is therefore small, and cuts and priorities take effect within
// a millisecond or at the next partition. When a report is due, a flag asks each slot to
// hand over its results after the present partition. The report does not wait for long
// partitions. A slot keeps the last few partitions, past a boundary of the tree, for its
// next delivery: a few tree nodes cover the other partitions, and the leader receives and
// merges only these nodes.
//
// # Leaders
//
// The worker follows the leader with the highest epoch that it has heard of. If that leader
// does not answer for some seconds, the worker follows the epoch in the lease's record, see
// package session. Without a
// leader, the worker runs the spans that it holds and keeps their results. The worker sends
// a new leader every result that is not known to be durable, so no result is computed
// again. The worker keeps at most about 256 MiB of results. If nothing becomes durable
// before this limit is reached, the worker starts no further partition.
//
// # Large partials
//
// A partial above 256 KiB stays in the worker, see package worker/session. Package
// worker/internal/holdings bounds the memory that such partials, operands and results of
// merges take, and spills beyond it; slots wait while memory is short. Package
// worker/internal/bulk serves them to other workers, and fetches operands, on a connection that
// carries nothing else. Without [Config.Bulk], and for leaders of earlier programs, large
// partials are written to storage instead.
//
// # What can fail
//
//   - A partition: the failure is reported, and the span continues with the next
//     partition.
//   - Opening a job: reported; the leader assigns the job's spans again. The first Fork belongs
//     to it, so that a Fork that does not return takes no slot.
//   - A job's code that ends the process: before each function of a span that runs alone the
//     worker waits until the leader knows the function's name.
//   - An operand: it cannot be fetched from its holder, or its bytes are damaged. The call is
//     reported as not made, with the holder's name.
//   - A held partial: it cannot be read back from the spill folder. It is no longer listed, and
//     its partitions run again. If it is too large for storage, the log says so, and it is lost
//     if the worker ends.
//   - Storage: writes of large partials and attachments and reads of plans are retried until
//     storage answers; the slot waits.
//   - NATS, the leader: see package session.
//   - Malformed messages: ignored, with a line in the log now and then.
//   - A job's code that does not return: Run returns [ErrStuck].
//
// If the process dies, other workers compute its lost results again.
package executor

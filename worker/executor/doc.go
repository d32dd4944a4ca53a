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
// millisecond, or one if a single one takes longer, and runs them without taking the
// lock. So the overhead per partition is small, while cuts and priorities take effect
// within a millisecond or at the next partition. When a report is due, a flag asks
// slots to hand over their results once their partition is done; the report does not
// wait for long partitions. A slot keeps the last few partitions, past a boundary of
// the tree, for its next delivery: a few nodes cover the other partitions, and the
// leader receives and merges only these nodes.
//
// # Leaders
//
// The worker follows the highest epoch that it hears of. Without a leader it runs the
// spans that it holds and keeps their results. A new leader gets everything that is
// not known to be durable, so none of it is computed again. The worker keeps at most
// about 256 MiB of results. If nothing becomes durable before this limit is reached,
// the worker starts no further partition.
//
// # What can fail
//
//   - A partition: the failure is reported, and the span continues with the next
//     partition.
//   - Opening a job: reported; the leader plans the job's spans again.
//   - Storage: large partials and plans are retried until it answers; the slot waits.
//   - NATS, the leader: see package session.
//   - Malformed messages: ignored, with a line in the log now and then.
//   - A job's code that does not return: Run returns [ErrStuck].
//
// Results that are lost with the process are computed again elsewhere.
package executor

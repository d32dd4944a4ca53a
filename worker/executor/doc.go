// Package executor runs spans of partitions for whoever leads the cluster, and
// keeps what they give until it is durable.
//
//	                       Worker.Run
//	            ┌──────────────────────────────────┐
//	receipts ──▶│ link: the only goroutine that    │──▶ reports
//	beacons  ──▶│ speaks NATS and looks at clocks  │──▶ pongs
//	nudges   ──▶│                                  │
//	            └──────┬───────────────────▲───────┘
//	                   │ one lock          │ stir
//	            ┌──────▼───────────────────┴───────┐
//	            │ book.Book: spans, items, numbers │
//	            └──▲──────────────▲────────────────┘
//	   Take, Claim │      Opened  │
//	    Deliver    │              │
//	      slots: one      tasks: one goroutine per open job,
//	      goroutine each  from its Open to its Close
//
// A slot claims as many partitions of its span at a time as take about a
// millisecond, one where a single one takes longer, and runs them without asking
// anybody. So partitions cost next to nothing besides themselves, while cuts and
// priorities take effect within a millisecond or at the next partition. When a
// report is due, slots are asked through a flag to hand over what they have, once
// their partition is done; the report does not wait for long ones. They keep the last
// few partitions, past a boundary of the tree, for the next time: a few nodes cover
// the others, and those are all that the leader gets to see and merges.
//
// # Leaders
//
// The worker follows the highest epoch that it hears of. Without a leader it runs
// what it holds and keeps what that gives. A new leader gets all that is not
// known to be durable, so none of it is computed again. It keeps at most about
// [book.MaxKept] bytes; where nothing becomes durable for so long, it waits.
//
// # What can fail
//
//   - A partition: the failure is reported and its span goes on behind it.
//   - Opening a job: reported; its spans are given up for the leader to plan anew.
//   - Storage: large partials and plans are asked for again until it answers; the
//     slot waits meanwhile.
//   - NATS, the leader: the report under way is sent again.
//   - Malformed messages: dropped, with a line in the log now and then.
//
// What is lost with the process is computed again elsewhere.
package executor

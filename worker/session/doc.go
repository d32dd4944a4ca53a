// Package session is a worker's bookkeeping: which spans it holds and how far they
// are, which items it has produced and who has them, and what the next report
// says. It is pure state: no clock, no goroutine, no I/O, and nothing in it
// depends on the order of a map. The worker's shell and a simulator drive the
// same Book.
//
//	            Receive(receipt)                 Report()
//	leader ───────────┐                             ▲
//	                  ▼                             │ items above Received,
//	       queue of spans, per job                  │ spans as far as reported
//	                  │ Take                 kept items, per job, until Durable
//	                  ▼                             ▲
//	                 Run ── Claim ▶ partitions ─────┘ Deliver
//	                  │
//	                  └── Release: what is left goes back to the queue
//
// # What always holds
//
//   - Every partition of an assigned span is in exactly one of: a held span, an
//     item that was delivered, or what was given up on purpose (a cut, a job that
//     ended or could not be opened, a drain).
//   - The items of a job are numbered 1, 2, 3, … without a gap, and each is kept
//     until a leader says that it is durable or that the job has ended.
//   - A report that names the held spans has, with those before it, every item
//     there is. So a span never moves on ahead of its items; while they do not all
//     fit, reports say that more follows and leave the spans out.
//   - A cut takes no partition that was claimed. What is claimed is delivered,
//     or lost by name: Release takes the run back to the last delivery.
//
// # What can fail
//
// A receipt that is stale is refused whole, and an order in it that makes no
// sense by itself; a delivery that does not cover what it says is refused. None
// of these changes anything else.
package session

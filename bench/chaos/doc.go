// Package chaos does to a cluster of real processes whatever can happen to one, for
// as long as it is told to, and checks that nobody notices but by the clock.
//
//	            schedule (seed) ──▶ faults
//	                                  │
//	customers ──▶ CLI     ┌───────────┼──────────────┐
//	    │          │      ▼           ▼              ▼
//	    │          └──▶ NATS ◀── link, packets ── machine: a worker process
//	    │          └──▶ Azurite ◀── proxy ◀── link ──┘
//	    └── expects what 'run' gives, or a failure, or a cancellation
//
// Each machine has one worker process, links of its own to NATS and storage and,
// where the operating system allows it, a network of its own whose packets can be
// dropped. The NATS server is a process too, so that it can be killed: it syncs what
// it acknowledges. Azurite, which does not, is stopped in order. Customers submit
// jobs as a user does, cancel some of them, and wait for the others; some jobs fail,
// panic or end their worker's process to order.
//
// When time is up all faults end, and within [SettleWithin] everything must be well:
// each job has the bytes that 'run' gives, or has failed for the reason that was
// ordered, or is cancelled; no job is lost; nothing is left in the queue, in the
// index of active jobs or on the poison list, and no partial; all processes end in
// order when they are told to; no process and no temporary file is left.
//
// # Seeds
//
// A seed determines the schedule: which fault comes when, for how long and to which
// machine, and what customers order. What the processes are doing at that moment it
// does not determine, so a seed that failed once may pass the next time. The logs of
// a run that failed are kept.
//
// # Known exceptions
//
// A large partial stays in storage where its worker died after writing it and before
// hearing of the job's end. As many are let pass as processes died while the job ran.
//
// What a NATS server has deleted may be there again after it was killed: its files
// tell of deletions later than of what is stored (seen with 2.15.2). A job that is in
// the index again is taken out again, and a submission that is delivered again finds
// its job ended; but partials stay. Those of jobs that began before the last kill are
// let pass.
//
// A submission that is not confirmed may have been made: its job then runs like any
// other, or is listed as queued and never begun. Customers submit again.
//
// # Running it
//
//	make chaos MINUTES=10 SEED=7 STORAGE=azure
//
// Without a seed it draws one, which it prints. A short run on each storage is among
// the tests.
package chaos

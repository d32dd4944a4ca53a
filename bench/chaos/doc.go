// Package chaos tests a cluster of real processes under faults, in the manner of Jepsen:
// clients run a workload while a nemesis injects faults by a seed, and checks compare the
// history with what the cluster promises.
//
//	            schedule (seed) ──▶ nemesis
//	                                  │
//	clients ────▶ CLI     ┌───────────┼──────────────┐
//	    │          │      ▼           ▼              ▼
//	    │          └──▶ NATS ◀── link, packets ── node: a worker process
//	    │          └──▶ Azurite ◀── proxy ◀── link ──┘
//	    └── expect the result of 'run', or a failure, or a cancellation
//
// Each node has one worker process and separate links to NATS and storage. On Linux it also
// has a network namespace in which packets can be dropped. The NATS server is a process that
// can be killed: it syncs what it acknowledges. Azurite does not sync, so it is only stopped
// by SIGTERM. Clients submit jobs as a user does, cancel some and wait for the others. Some
// jobs are made to fail, to panic or to exit their worker's process.
//
// When the time is up all faults end. Within [SettleWithin] each job must have the result of
// 'run', or have failed for the intended reason, or be cancelled. No job is lost. The queue,
// the index of active jobs and the poison list are empty, and no partial is left. All
// processes end on SIGTERM, and no process and no temporary file is left.
//
// # Seeds
//
// A seed determines the schedule (which fault begins when, how long it lasts, and on which
// node) and the operations of the clients. It does not determine what the processes are doing
// at that moment, so a seed that failed once may pass the next time. The logs of a failed run
// are kept.
//
// # Known exceptions
//
// A large partial stays in storage if its worker dies after writing it and before it learns
// that the job has ended. One such partial is allowed for each process that died during the
// job.
//
// A NATS server that was killed may restore deleted messages: its files record deletions later
// than writes (seen with 2.15.2). A job restored to the index is removed again, and a
// submission that is delivered again finds its job ended, but partials stay. Partials of jobs
// that began before the last kill are allowed.
//
// A submission without an answer may have succeeded: its job then runs like any other, or is
// listed as queued and never begins. Clients submit again.
//
// # Running it
//
//	make chaos MINUTES=10 SEED=7 STORAGE=azure
//
// Without SEED the run draws a seed and prints it. A short run on each storage is part of the
// tests.
package chaos

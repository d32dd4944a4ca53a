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
// may be killed, because it syncs writes before it acknowledges them. Azurite does not sync, so
// Azurite is only stopped by SIGTERM. Clients submit jobs with the CLI, cancel some jobs and
// wait for the others. Some jobs are made to fail, to panic or to exit their worker's process.
//
// When the time is up all faults end. Within [SettleWithin] each job must end: with the result of
// 'run', with the intended error, or cancelled. No job is lost. The queue, the index of active
// jobs and the poison list are empty, and no partial is left. All processes end on SIGTERM, and
// no process and no temporary file is left.
//
// # Seeds
//
// A seed determines the schedule (which fault begins when, how long it lasts, and on which node)
// and the operations of the clients. A seed does not determine what the processes are doing when
// a fault begins, so a seed that failed once may pass the next time. The logs of a failed run are
// kept.
//
// # Known exceptions
//
// A large partial stays in storage if its worker writes the partial and dies before learning
// that the job has ended. One such partial is allowed for each process that died during the
// job.
//
// A NATS server that was killed may restore deleted messages, because its files record deletions
// later than writes (seen with NATS 2.15.2). If a job is restored to the index, the leader
// removes the job again. If a submission is redelivered after its job has ended, the submission
// is ignored. But restored partials stay in storage. Partials of jobs that began before the last
// kill of the NATS server are therefore allowed.
//
// A submission without a reply may have succeeded. Its job then runs like any other, or is listed
// as queued and never begins. The client submits the operation again, as another job.
//
// # Running it
//
//	make chaos MINUTES=10 SEED=7 STORAGE=azure
//
// Without SEED the run draws a seed and prints it. A short run on each storage is part of the
// tests.
package chaos

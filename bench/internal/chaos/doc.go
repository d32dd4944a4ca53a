// Package chaos tests a cluster of real processes under faults, in the manner of Jepsen. Clients
// run a workload while a nemesis injects faults, which a seed determines. After the run, checks
// compare the history with the promises of the cluster.
//
//	            schedule (seed) ──▶ nemesis
//	                                  │
//	clients ────▶ CLI     ┌───────────┼──────────────┐
//	    │          │      ▼           ▼              ▼
//	    │          └──▶ NATS ◀── link, packets ── node: a worker process
//	    │          └──▶ Azurite ◀── proxy ◀── link ──┘
//	    └── expect the result of 'run', or a failure, or a cancellation
//
// Each node has one worker process and separate links to NATS and storage. The worker has memory
// for few large partials, so it moves partials to files, and every second worker has two slots. On
// Linux a node also has a network namespace in which packets can be dropped. The NATS server is a
// process that may be killed, because it syncs writes to disk before it acknowledges them. Azurite
// does not sync writes, so it is stopped only by SIGTERM. Clients submit jobs with the CLI, cancel
// some jobs and wait for the others. Some jobs fail, panic or end their worker's process on
// purpose.
//
// At the end of the given time all faults end. Each job must then end within 90 s, with
// the result of 'bellwether run', with the intended error, or cancelled. No acknowledged job may be
// lost. The queue, the index of active jobs and the poison list must be empty, and no partial may
// remain. All processes must end on SIGTERM, and no process or temporary file may remain. In a run
// of at least 5 minutes, workers must have moved large partials to files, and written some to
// storage.
//
// # Damaged files
//
// On the storage Damaged, the faults also damage the newest file of a stream while the NATS server is
// not running. NATS checks each message when it is started after a kill, and drops what stands behind
// damage in a file. A job whose submission was acknowledged before the last damage may be lost. Then
// the commands must say so by the job's ID: "storage has lost it", or an error of the job that calls a
// partial or a state lost or damaged. A job that is not lost must have the right result, and the cluster must
// run the jobs that are submitted later. TestDamagedFiles does each kind of damage once, and older
// files in place of newer ones, on a small cluster.
//
// # Seeds
//
// A seed determines the operations of the clients and the schedule of faults. The schedule contains
// the beginning, the duration and the node of each fault. A seed does not determine what the
// processes are doing when a fault begins, so a seed that failed once may pass the next time. The
// logs of a failed run are kept.
//
// # Known exceptions
//
// A large partial remains in storage if its worker writes it and dies before learning that the job
// has ended. Three remaining partials are allowed for each process that died during the job,
// because a worker writes three partials at the same time. The last state of a job with rounds remains until the job is
// removed, because other jobs may continue from it.
//
// A NATS server that was killed may restore deleted messages, because it records deletions in its
// files later than writes (seen with NATS 2.15.2). If the server restores an entry of the index of
// active jobs, the leader removes the entry again. If a submission is restored and delivered again
// after its job has ended, the leader ignores it. Restored partials, however, remain in storage.
// Partials of jobs that began before the last kill of the NATS server are therefore allowed.
//
// A submission whose reply was lost may have succeeded. The submitted job then runs like any other
// job, or stays queued forever. The client submits the same job again, under another ID.
//
// # Running it
//
//	make chaos MINUTES=10 SEED=7 STORAGE=azure
//	make chaos MINUTES=10 STORAGE=damaged
//
// Without SEED, a random seed is chosen and printed. A short run on each storage except Damaged is
// part of the tests.
package chaos

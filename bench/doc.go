// Package bench measures Bellwether on real processes and a NATS server that syncs to disk, or
// on a running cluster. The commands of 'bellwether bench' call this package, and other programs
// can call it too.
//
//	Failover     the leader dies or leaves: time until the next leader assigns work,
//	             throughput during the failover, lost work
//	Overhead     a cluster compared with a plain loop that computes the same result
//	Throughput   empty partitions per second, and small jobs per second
//	Aggregate    sums of small and large vectors, compared with a plain loop
//	Rounds       rounds without work, and k-means beside a plain loop
//	Scale        the cost of leading, by numbers of workers and of partitions
//
// Each benchmark except Scale gets a client of the cluster. A benchmark that measures or kills
// worker processes also gets the supervisor of the worker processes. The example of Overhead shows
// how to set up both.
//
// Values that are compared are measured in turns within one run, because machines differ and because the speed
// of a machine changes from one minute to the next.
//
// # How it is measured
//
// Failover runs job definitions that record executions ([Traced]): each process writes to a file
// which partitions it executed, and when. Throughput is therefore exact to the millisecond and
// independent of the leader, and the process of each repeated execution is known. The duration of
// each step comes from the cluster's history. A running cluster has no traces, so repeated
// executions are unknown, and throughput is computed from the number of completed partitions that
// the leader reports. Throughput is omitted if the leader receives less than one report per window.
// The report shows the slowest window after a failover together with the slowest of equally many
// windows without a failover. If both windows are slow, the reason is a busy machine or infrequent
// reports, and not the failover.
//
// Overhead and Throughput measure the time from the submission of a job until its result is
// durable. The times of submission and end are in the job's manifest.
//
// Aggregate compares the duration of a job with the duration of a plain loop that reuses its
// memory. The memory of each process is sampled 20 times a second. The bytes that a process moves
// are the bytes that it reads and writes, in files and sockets together, because Linux does not
// count the bytes in sockets per process.
//
// Scan compares the job scan with a loop that is written by hand. The job and the loop run in the calling process.
//
// Reuse changes the input of a scan and measures the next run, which reuses partials of the runs before. Each
// result must have the bytes of a run that reuses nothing. The runs are in the calling process and in a cluster.
//
// Rounds takes the times of rounds from the status of the jobs: from the moment that a state is durable to the
// moment that the next one is. The loop of k-means runs in the calling process, after the job has ended.
//
// Scale runs the leader in a process without a worker ([Lead]). The workers are simulated in the
// calling process. Simulated workers use the session code of real workers over shared connections,
// and wait instead of computing. The partials of the simulated job are known without any
// computation, so the job's result shows whether each partition was counted once.
//
// # What can fail
//
// A benchmark fails if the cluster does not react within a minute, or if a result is wrong. The
// resource usage of processes is read from /proc. On a system without /proc, Overhead, Aggregate,
// Scan, Reuse and Scale fail with [ErrNoProc].
package bench

// Package bench measures Bellwether on real processes and a NATS server that syncs to disk, or
// on a running cluster. The commands of 'bellwether bench' call this package, and other programs
// can call it too.
//
//	Failover     the leader dies or leaves: time until the next leader assigns work,
//	             throughput during the failover, lost work
//	Overhead     a cluster compared with a plain loop that computes the same result
//	Throughput   empty partitions per second, and small jobs per second
//	Aggregate    sums of small and large vectors, compared with a plain loop
//	Scale        the cost of leading, by numbers of workers and of partitions
//
// Each benchmark but Scale takes a client of the cluster. A benchmark that measures or kills
// worker processes also takes these processes. The example of Overhead shows how to set up both.
//
// Values that are compared are measured alternately in one run, because machines differ, and the
// speed of one machine changes from one minute to the next.
//
// # How it is measured
//
// Failover runs job definitions that record executions ([Traced]): each process writes to a file
// which partitions it executed, and when. Throughput is therefore exact to the millisecond and
// independent of the leader, and each repeated execution is known together with its process.
// The duration of each step comes from the cluster's history. A running cluster has no traces,
// so repeated executions are unknown, and throughput is computed from the number of completed
// partitions that the leader reports. Throughput is omitted if the leader receives fewer reports
// than one per window. The slowest window after a failover is shown beside the slowest of equally
// many windows without a failover: if both are low, the machine was busy, or the reports are too
// coarse.
//
// Overhead and Throughput measure the time from the submission of a job until its result was
// durable. The job's manifest records both times.
//
// Aggregate compares the sum with that of a plain loop that reuses its memory. The memory of each
// process is sampled 20 times a second. The bytes that a process moves are those of its reads
// and writes, files and sockets together, because Linux does not count the bytes of sockets by
// process.
//
// Scale runs the leader in a process without a worker ([Lead]). The workers are simulated in the
// calling process: simulated workers use the session code of real workers over shared
// connections, and wait instead of computing. The partials of the job are known without
// computing, so its result still shows that each partition was counted once.
//
// # What can fail
//
// A benchmark fails if the cluster does not react within a minute, or if a result is wrong.
// The resource usage of processes is read from /proc: without it, Overhead, Aggregate and Scale fail with
// [ErrNoProc].
package bench

// Package bench measures Bellwether on real processes and a NATS server that syncs to disk, or
// on a running cluster. The commands of 'bellwether bench' call it; other programs can too.
//
//	Failover     the leader dies or leaves: time until the next leader assigns work,
//	             throughput during the failover, lost work
//	Overhead     a cluster compared with a plain loop that computes the same
//	Throughput   empty partitions, and many small jobs
//	Scale        the cost of leading, by workers and by partitions
//
// Each benchmark but Scale takes a client of the cluster, and the processes of the cluster's
// workers if the benchmark measures or kills them. The example of Overhead shows how to set
// them up.
//
// Values that are compared are measured in one run, in turns: machines differ, and the same
// machine differs from one minute to the next.
//
// # How it is measured
//
// Failover runs definitions that record executions ([Traced]): each process writes which
// partition it executed, and when, to a file. Throughput is therefore exact to the millisecond
// and independent of the leader, and each repeated execution is known together with its
// process. The duration of each step comes from the cluster's history. A running cluster has
// no traces: repeated executions are unknown, and throughput is computed from the figures of
// the leader. It is left out if the leader receives reports less often than once per window.
// The slowest window after a failover is shown beside the slowest of equally many undisturbed
// windows: if both are low, the machine was busy, or the reports are too coarse.
//
// Overhead and Throughput measure the time from the submission to the moment in the manifest
// at which the result was durable.
//
// Scale runs the leader in a process without a worker ([Lead]). Its workers are simulated in
// this process: they drive the session of real workers over shared connections, and wait
// instead of computing. The partials of the job are known without computing, so its result
// still shows that each partition was counted once.
//
// # What can fail
//
// A benchmark fails if the cluster does not react within a minute, or if a result is wrong.
// The resource usage of processes is read from /proc: without it, Overhead and Scale fail with
// [ErrNoProc].
package bench

// Package bench measures Bellwether, on real processes and a NATS server that syncs
// to disk, or on a running cluster. The commands of bellwether bench are made of it,
// and it can be called as well.
//
//	Failover     a leader dies or leaves: how long until the next one gives work, what
//	             the others finish meanwhile, what is lost
//	Overhead     a flock against a plain loop that does the same
//	Throughput   partitions that do nothing, and many small jobs
//	Scale        what leading costs, by workers and by partitions
//
// All but Scale take a [Cluster], which is a connection, the cluster's subjects and its
// store, and the processes of its workers, if they are to be measured or killed: the
// example of Overhead puts them together.
//
// What is compared is measured in one run, in turns: machines differ, and so does the
// same machine from one minute to the next.
//
// # How it is measured
//
// Failover works on definitions that leave traces ([Traced]): each process notes what
// it executed and when, in a file of its own. So throughput is what was really done,
// by the millisecond, whoever led and whatever died; and what was done twice can be
// told, and by whom. Steps are those of the cluster's own history. On a running
// cluster there are no traces: what was done twice is not known, and throughput is what
// the leader says, which is as fine as the reports that it gets. Where they come more
// rarely than the windows, it is left out. Beside the slowest of the short windows
// after the blow stands the slowest of as many in which nothing happens: where that is
// low too, the machine was busy with something else, or the reports are too coarse.
//
// Overhead and Throughput take the time from the submission to the moment that the
// durable result has in its manifest.
//
// Scale has the leader in a process of its own ([Lead]), without a worker. The workers
// are simulated in this process: they keep the books of real ones, speak as they do
// over connections that they share, and let time pass where those would compute. The
// job is one whose partials are known without computing, so that its result still
// proves that each partition was counted once.
//
// # What can fail
//
// A cluster that does not do what it should within a minute is an error, and so is a
// result that is not the expected one. What processes use of the machine is read from
// /proc: where there is none, Overhead and Scale fail with [ErrNoProc].
package bench

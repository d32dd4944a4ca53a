// Package cli is Bellwether's command line. A program that has jobs of its own
// gets all of it, workers included, by calling [Main] with them:
//
//	func main() { cli.Main(jobs.MustNew(mine.Definition)) }
//
// The commands that need no cluster (run, catalog, version, completion) work
// anywhere. The others reach a cluster through NATS: they ask the leader for
// what only it knows (who works, how fast a job goes) and read everything else
// from storage, so that a job's state and result can be had while nobody leads.
//
//	run, catalog        jobs, in this process
//	submit              storage: spec, then a message in the queue
//	status, list        storage, and the leader's live numbers where it answers
//	watch               the same
//	result, history,    storage
//	remove, requeue
//	cancel              storage, then the leader
//	workers, leader     the leader alone
//	worker              everything: election, worker and, where elected, coordinator
//	dev, demo, bench    a NATS server in this process and, but for bench scale, worker
//	                    processes; with --attach, bench failover only asks, like the others
//
// # Exit status
//
//	0  done
//	1  the job failed or was cancelled, or something unforeseen went wrong
//	2  bad usage: a flag, a parameter, a job or an ID that does not exist
//	3  no cluster, no answer in time, or the job has not ended
//
// # Logs
//
// Processes that go on for long (worker, dev) log to standard error: lines of
// key=value on a terminal, JSON elsewhere. A cluster where nothing changes logs
// nothing. In every package a key means the same thing:
//
//	address     where this process serves health and metrics
//	attempt     which try at planning a job it was, from 1
//	blob        name of a partial that is kept beside its manifest
//	bytes       length of a message
//	cause       of a change of leader, as in history; of an eviction, Azure's word for it
//	detect      from the last sign of life of the leader before to the decision to replace it
//	dir         a folder
//	doing       what is tried again, or was when it failed
//	elect       from that decision to the lease held
//	epoch       of the leader that the line is about
//	error       what went wrong
//	items       finished nodes and failures that a worker keeps until they are durable
//	job         a job's ID
//	key         of a record in storage
//	kind        the name of a job's definition
//	leader      the worker that leads
//	machine     the virtual machine's name, as Azure calls it
//	name        of an entry of the poison list, or of a stored value
//	nodes       finished nodes that a job was resumed with
//	operation   what an election did with the lease when it failed
//	partition   of the job
//	partitions  how many the job has
//	pause       until the next try
//	pid         of a process
//	predecessor the worker that led before
//	process     one that dev has started, by its name
//	queue       the name of Azure's queue of submissions
//	reason      why something is as it is
//	running     partitions that run when a worker drains
//	self        the worker whose process writes the line
//	stack       where a job's code panicked
//	state       that a job has ended in
//	subject     of a NATS message
//	successor   the worker that is to lead next
//	unlogged    how many lines of the kind were left out before this one
//	url         of the NATS server
//	worker      the worker that the line is about
//
// # Errors
//
// What can fail is told on standard error in one line that says what to do.
// Results go to standard output, progress and notes to standard error.
package cli

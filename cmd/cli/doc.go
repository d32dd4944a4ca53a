// Package cli is Bellwether's command line. A program that defines jobs gets the whole command
// line, workers included, by passing the jobs to [Main]:
//
//	func main() { cli.Main(jobs.MustNew(mine.Definition)) }
//
// Parts that are large, and that most programs do not need, are named by the program that wants them:
// [Program.Commands] takes outputs.Command for jobs that write outputs, execguard.Command for the jobs
// exec and wasm, and wasmhost.Command for the job wasm. The packages outputs, execguard and wasmhost are in the
// folders of package cli, and their docs have the lines to copy.
//
// A Go program can use the packages below cli directly, without the command line:
//
//	                 cli
//	    /        /     |      \         \
//	client   worker   bench   jobs   deploy/local
//
// The commands use the following parts of a cluster:
//
//	run, catalog        jobs, in this process
//	kept                the folder of run --reuse, or storage
//	submit              storage: the spec, then a message in the queue
//	status, list,       storage, and the leader's live figures if it answers
//	watch
//	result, history,    storage
//	events, logs
//	remove, requeue
//	cancel              storage, then the leader
//	workers, leader     the leader
//	worker              package worker: election, execution and, if elected, leading
//	health              the worker process on this machine, over HTTP
//	dev, demo, bench    a NATS server in this process, and worker processes; bench scale
//	                    simulates workers, and bench failover --attach uses a cluster
//	                    that runs already
//
// Commands that only read storage also work if there is no leader.
//
// # Exit status
//
//	0  success
//	1  the job failed or was cancelled, or an unexpected error
//	2  bad usage: a flag, a parameter, or a job or ID that does not exist
//	3  no cluster, no answer in time, or the job has not ended
//	4  a worker has ended because code of jobs does not return: start it again
//
// # Logs
//
// Long-running processes (worker, dev) log to standard error: lines of key=value on a terminal, and
// JSON otherwise. Nothing is logged while nothing changes in a cluster. A key in a log line has the
// same meaning in every package:
//
//	account     host of an account of storage that throttles requests of jobs
//	address     where this process serves health and metrics
//	attachment  name of the attachment of a job's result
//	blob        name of a partial that is stored outside the manifest
//	bytes       size of a message or of a partial
//	cause       cause of a change of leader, as in history; or type of an Azure eviction
//	data        size of the data that this worker's partitions of a round have read
//	detect      from the previous leader's last sign of life to the decision to replace it
//	dir         a folder
//	elect       from the decision to replace the leader until the lease was acquired
//	election    name of the election in which the command elect stands
//	epoch       epoch of the leader in question
//	error       the error that occurred
//	from        address of the client that asked for an action
//	function    function of a job's definition
//	holder      the worker that has the state of a round
//	id          ID of this process in an election of the command elect
//	items       number of finished nodes and failures that a worker keeps until they are durable
//	job         ID of a job
//	key         key of a record in storage
//	kind        the name of a job's definition
//	leader      the worker that leads
//	limit       how long the code of a job may take
//	machine     name of the virtual machine in Azure
//	name        name of an entry of the poison list, or of a stored value
//	node        node of the aggregation tree, level/index
//	nodes       number of finished nodes with which a job was resumed
//	not_kept    size of the data that did not fit into the caches
//	objects     number of foreign objects in a listing of storage; key is the first of them
//	operation   operation on storage or on the lease that failed
//	pack        ID of a file of kept partials
//	partition   index of a partition
//	partitions  number of partitions of the job
//	path        the action that a client of the page asked for
//	pause       time until the next attempt
//	pid         ID of a process
//	predecessor the worker of the previous leader
//	prefix      prefix of the keys in a listing of storage
//	process     name of a process that dev started
//	queue       name of the queue of submissions in Azure
//	reason      reason for the logged event
//	requests    number of requests that an account has throttled
//	running     number of partitions that run when a worker drains
//	self        the worker whose process logs the line
//	stack       stack of a panic in a job's code
//	state       the final state of a job
//	status      exit status of a command that elect ran
//	stopped     whether elect stopped the command
//	subject     subject of a NATS message
//	successor   the worker that is offered the lease
//	took        time from the first to the last request that an account has throttled
//	unlogged    number of similar lines suppressed before this one
//	url         URL of the NATS server
//	was         epoch that the worker followed until now, and that no leader has
//	worker      the worker in question
//
// # Errors
//
// An error is one line on standard error that says how to fix the problem. Results go to
// standard output; progress and notes go to standard error.
package cli

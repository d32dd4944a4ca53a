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
//	watch, result       the same
//	cancel, workers,    the leader alone
//	leader
//	history, requeue    storage
//	worker              everything: election, worker and, where elected, coordinator
//	dev, demo           a NATS server in this process and worker processes
//
// # Exit status
//
//	0  done
//	1  the job failed or was cancelled, or something unforeseen went wrong
//	2  bad usage: a flag, a parameter, a job or an ID that does not exist
//	3  no cluster, or no answer or no result in time
//
// # Logs
//
// Processes that go on for long (worker, dev) log to standard error: lines of
// key=value, or JSON with -o json. A cluster where nothing changes logs nothing.
// In every package a key means the same thing:
//
//	self        the worker whose process writes the line
//	worker      the worker that the line is about
//	leader      the worker that leads
//	over        the worker that led before
//	successor   the worker that is to lead next
//	epoch       of the leader that the line is about
//	cause       of a change of leader, as in history
//	job, kind   a job's ID, and what kind of job it is
//	partition   of the job
//	error       what went wrong; reason: why something is as it is
//	doing       what is tried again, and pause: when
//	unlogged    how many lines of the kind were left out before this one
//	process     a process that dev has started, by its name, and pid
//
// # Errors
//
// What can fail is told on standard error in one line that says what to do.
// Results go to standard output, progress and notes to standard error.
package cli

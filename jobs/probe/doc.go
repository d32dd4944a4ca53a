// Package probe is a job without a useful result, for trying out a deployment and for tests. The
// partitions spin or sleep for equal or random times, produce partials of a given size, and fail if
// a parameter says so.
//
// The result shows whether each partition was counted exactly once. Each partition adds a hash of
// its number to a sum and to an exclusive or. If partial-size is set, each partition also
// contributes a block of bytes.
//
// Without spin, sleep or faults a partition takes a few nanoseconds, so the job measures the
// cost of dispatch.
//
// # Faults
//
//	fail, fail-every   an error that is retried
//	permanent          an error that is not retried
//	panic              a panic
//	exit               the process exits with status 3
//
// A fault happens at each attempt. If once-dir names a directory, a fault happens only at the first
// attempts; the parameter times sets the number of these attempts. Each attempt with a fault
// creates a file in the directory, which counts the attempt for the next attempt in any process.
// Workers on several machines have to share the directory. If the directory is missing, the job
// fails at once. If a partition has several faults, the last fault in the list happens first.
//
// The fault exit ends the submitter's process if the job runs there.
//
// The job is restricted, because a client that may submit it can kill workers, fill their
// memory and create files: workers run it only if they are started with --allow probe.
package probe

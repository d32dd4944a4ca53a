// Package probe is a job that does nothing of use: it tries a deployment, and
// tests use it. It spins or sleeps, evenly or not, makes partials of a given size,
// and fails as ordered.
//
// Its result proves that each partition was counted exactly once: every partition
// adds a hash of its number to a sum and to an exclusive or, and with
// partial-size also a block of bytes of its own.
//
// With neither spin, sleep nor a fault a partition takes a few nanoseconds, so
// that the job measures what dispatching costs.
//
// # Faults
//
//	fail, fail-every   an error worth retrying
//	permanent          an error that is not
//	panic              a panic
//	exit               the end of the process, with status 3
//
// A fault happens at each attempt, unless once-dir names a directory: then it
// happens at the first attempts only, as many as the parameter times says. Each
// leaves an empty file there, created exclusively, since the next attempt may be
// made by another process. Workers on several machines must share the directory;
// a directory that is missing fails the job at once. Several faults ordered for
// one partition come in the order of the list above, from the last to the first.
//
// Where the job runs in the process that was asked for it, exit ends that process.
package probe

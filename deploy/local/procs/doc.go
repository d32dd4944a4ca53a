// Package procs starts and supervises child processes of one program on this machine. The commands dev, demo
// and bench run their workers with package procs; tests that kill processes use it too.
//
// Each child has its own process group, so that an interrupt from a terminal reaches only the
// parent, which then stops the children in order. A child's standard input is a pipe to which the
// parent never writes. The child's pipe is closed when the parent ends for any reason; a worker
// with the flag --with-parent then ends too.
//
// If a process cannot be started, [Supervisor.Start] returns the error. If a process ignores
// SIGTERM, [Supervisor.Stop] kills it after a grace period.
package procs

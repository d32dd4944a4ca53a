// Package procs starts and supervises child processes of one program on this machine. The commands dev, demo
// and bench run their workers with package procs; tests that kill processes use it too.
//
// Each child has its own process group, so that an interrupt typed at a terminal reaches only the
// parent, which then stops the children in order. A child's standard input is a pipe to which the
// parent never writes. The pipe is closed when the parent ends for any reason; a worker that was
// started with the flag --with-parent then ends too.
//
// What can fail: a process may fail to start; [Supervisor.Start] returns the error. A
// process may ignore SIGTERM; [Supervisor.Stop] kills the process after a grace period.
package procs

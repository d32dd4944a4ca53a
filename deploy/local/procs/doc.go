// Package procs starts and supervises child processes of one program on this machine.
// The commands dev, demo and bench and the tests that kill processes run their workers
// with this package.
//
// Each child has its own process group, so that an interrupt typed at a terminal
// reaches only the parent, which then stops the children in order. A child's standard
// input is a pipe that the parent never writes to. The pipe closes when the parent ends
// for any reason, and a worker that was started with --with-parent then ends too.
//
// What can fail: a process may fail to start; [Supervisor.Start] returns the error. A
// process may ignore SIGTERM; [Supervisor.Stop] kills the process after a grace period.
package procs

// Package procs starts and supervises child processes of one program on this machine.
// The commands dev, demo and bench run their workers with it, and so do the tests that
// kill processes.
//
// Each child has its own process group, so that an interrupt typed at a terminal
// reaches only the parent, which then stops the children in order. A child's standard
// input is a pipe that the parent never writes to: it closes when the parent ends, for
// whatever reason, and a worker that was started with --with-parent then ends too.
//
// What can fail: a process may not start, and [Supervisor.Start] returns why. A process
// may ignore SIGTERM, and [Supervisor.Stop] kills it after a grace period.
package procs

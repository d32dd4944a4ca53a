// Package procs runs worker processes of one program on this machine and
// watches over them: bellwether dev and demo live on it, and so do the tests
// that kill processes.
//
// Each process gets a process group of its own, so that an interrupt typed at a
// terminal reaches the parent alone, which then stops the flock in order. Its
// standard input is a pipe that the parent never writes to: it closes when the
// parent goes away, however that happens, and a worker that is told to watch it
// ends then.
//
// What can fail: a process may not start (its error is returned); a process may
// not end when it is asked to, and is then killed after a while.
package procs

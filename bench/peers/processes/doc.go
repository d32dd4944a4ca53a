// Package processes makes one program play many parts: it starts itself again, as
// the worker of some queue or as a candidate of some election, and hears what those
// processes have to tell.
//
//	program ──starts──▶ program be ROLE CONFIG
//	        ◀──tells─── one line of JSON on standard output for each thing told
//
// A process ends when it is told to (SIGTERM), when it is killed, or when whoever
// started it is gone, however that happened.
//
// [Server] is a program of somebody else, such as a database, that ends with this
// process as well, even if that is killed.
//
// What can fail: a process may end unasked; what it wrote last is in the error.
package processes

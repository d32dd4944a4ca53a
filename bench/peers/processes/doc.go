// Package processes starts this program again in other roles: as a worker of a queue or as a
// candidate of an election, and receives their messages.
//
//	program ──starts───▶ program be ROLE CONFIG
//	        ◀──messages── one line of JSON on standard output each
//
// A process ends on SIGTERM, when it is killed, and when the process that started it has ended.
//
// [Server] is a server of another project, such as a database. It ends with this process, even
// if this process is killed.
//
// If a process ends unexpectedly, the error contains the end of its output.
package processes

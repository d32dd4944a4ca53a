// Package processes starts copies of this program in other roles, as a worker of a queue or as a
// candidate of an election, and receives messages from the started processes.
//
//	program ──starts───▶ program be ROLE CONFIG
//	        ◀──messages── lines of JSON on standard output
//
// A process ends on SIGTERM, on SIGKILL, and when its parent process has ended.
//
// [Server] is a server of another project, such as a database. The server ends with this process,
// even if this process is killed.
//
// If a process ends unexpectedly, the error contains the end of the process's output.
package processes

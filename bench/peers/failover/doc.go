// Package failover repeatedly kills the leader of Bellwether and of other elections, and measures
// the time until the next leader acts as a leader.
//
//	3 candidates ──▶ one leads ──▶ SIGKILL ──▶ another leads, and acts
//	                                  ├────────── time ─────────┤
//
// A leader acts if it succeeds in an operation that only a leader may perform. The operation is the
// commit of an entry of a Raft log, a write to etcd on the condition that the election is still
// won, or a write of a blob's metadata under the blob's lease. The leader of Bellwether must do
// more, because it must assign work to a worker. The assignment is observed in the messages on
// NATS. All times are read from the clock of this process.
//
// Each candidate is a process on this machine. A new candidate replaces the killed one, and all
// candidates are ready before the next kill. The leader is killed at a random moment between two
// renewals, because the time until its lease expires affects the result.
//
// Candidates are idle. On a busy machine all systems take longer.
package failover

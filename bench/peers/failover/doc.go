// Package failover repeatedly kills the leader of Bellwether and of other elections, and measures
// the time until the next leader acts.
//
//	3 candidates ──▶ one leads ──▶ SIGKILL ──▶ another leads, and acts
//	                                  ├────────── time ─────────┤
//
// To act means to succeed in an operation that only a leader may do: an applied entry of a Raft
// log, a key of etcd written on the condition that the election is still won, metadata of a blob
// written under its lease. Bellwether must do more: it assigns work to a worker. The assignment is
// observed in the messages on NATS. All times are read from the clock of this process.
//
// Each candidate is a process on this machine. A new candidate replaces the killed one, and all are
// ready before the next kill. The kill comes at a random moment between two renewals, because the
// next leader may have to wait for the remaining time of the lease.
//
// Candidates are idle. On a busy machine all systems take longer.
package failover

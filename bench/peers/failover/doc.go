// Package failover repeatedly kills the leader of Bellwether and of other elections, and measures
// the time until the next leader acts.
//
//	3 candidates ──▶ one leads ──▶ SIGKILL ──▶ another leads, and acts
//	                                  ├────────── time ─────────┤
//
// To act means to succeed in an operation that only a leader may do: an applied entry of a Raft
// log, a key of etcd written on the condition that the election is still won, metadata of a blob
// written under its lease. Bellwether must do more: it assigns work to a worker, which is seen in
// the messages on NATS. The clock is that of this process.
//
// Each candidate is a process on this machine. A new one replaces the killed one, and all are ready
// before the next kill, which comes at a random moment between two renewals, because the remaining
// time of a lease matters.
//
// Candidates are idle. On a busy machine all systems take longer.
package failover

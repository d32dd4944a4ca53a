// Package failover kills the leader of Bellwether and of other elections, again and
// again, and takes the time until the next one acts.
//
//	3 candidates ──▶ one leads ──▶ SIGKILL ──▶ another leads, and acts
//	                                  ├────────── time ─────────┤
//
// To act is to do what only a leader may, with success: an entry of a Raft log that
// is applied, a key of etcd written on the condition that one still leads, a blob's
// metadata written under its lease. Bellwether is held to more: a worker is given
// work, as is seen in the messages that pass over NATS. The clock is this process'.
//
// Each candidate is a process, on this machine. A new one takes the place of the one
// that was killed, and before the next kill all are there again. A random part of the
// time between two renewals passes, too, since what remains of a lease matters.
//
// Candidates have nothing else to do: machines that are busy take longer, all of them.
package failover

// Peers compares other systems with Bellwether, in one run on one machine:
//
//	peers throughput   the same tasks on queues, a goroutine pool and Bellwether
//	peers failover     time from the kill of a leader until the next one acts
//	peers all          both
//
// Run it with
//
//	make bench-peers
//
// It is a separate module, so the dependencies of the other systems do not become Bellwether's.
// README.md explains what is measured and how, and lists the licences of the other systems.
package main

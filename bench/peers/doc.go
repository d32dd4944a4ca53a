// Peers measures other systems beside Bellwether, in one run on one machine:
//
//	peers throughput   the same tasks on queues, a goroutine pool and Bellwether
//	peers failover     how long nobody leads after a leader was killed
//	peers all          both
//
// Run it with
//
//	make bench-peers
//
// It is a module of its own, so that what the others need stays out of Bellwether.
// README.md says what is measured, how, and under which licences the others are.
package main

// Peers compares other systems with Bellwether, in one run on one machine:
//
//	peers throughput   the same tasks on queues, a goroutine pool and Bellwether
//	peers failover     time from the kill of a leader until the next leader acts
//	peers aggregate    the same vectors added up by other systems
//	peers rounds       k-means and a logistic regression by other systems, round after round
//	peers scan         the same files aggregated by DuckDB
//	peers all          all of them
//
// Run the comparison with
//
//	make bench-peers
//
// Peers is a separate module, so Bellwether does not depend on the modules of the other systems.
// README.md explains what is measured and how, and lists the licences of the other systems.
package main

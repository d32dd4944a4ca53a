// Package throughput gives the same tasks to Bellwether and to other systems, and
// takes the time until all are done.
//
//	                 ┌─ pool         goroutines of this process
//	Work ─▶ System ──┼─ bellwether   a job on worker processes of its own program
//	                 └─ a queue:     this process ─▶ server ─▶ worker processes
//
// All that is distributed has as many worker processes, with as many slots. The
// worker processes of queues are this program again; each adds up what it did, and
// says so within a millisecond of the last task. Time runs from the first insertion until the
// last task was done, and does not include telling the queue so, nor bringing
// results together, which a user of a queue has to do besides. That of Bellwether
// runs from submission until the merged result is durable.
//
// # Fair
//
//   - Each system is first tried with all of its settings, such as how many tasks a
//     process may have in hand, and with one and with all cores per process. The
//     rounds are run with what was fastest.
//   - Systems take turns, in another order in each round. Each run begins with a new
//     server, new processes and a few tasks that do not count.
//   - A run whose sum is not right is an error: see [work.Sum].
package throughput

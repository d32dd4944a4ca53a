// Package throughput gives the same tasks to Bellwether and to other systems, and measures the time
// until all tasks are done.
//
//	                 ┌─ pool         goroutines of this process
//	Work ─▶ System ──┼─ bellwether   a job on worker processes of the bellwether program
//	                 └─ a queue:     this process ─▶ server ─▶ worker processes
//
// All distributed systems have the same number of worker processes and slots. The worker processes
// of queues run this program; each process adds up its tasks and reports the sum within a
// millisecond after its last task. The time of a queue runs from the first insertion until the last
// task is done. The time of a queue does not include acknowledgements to the queue or the merging
// of results, although users of a queue need both. The time of Bellwether runs from submission
// until the merged result is durable.
//
// # Fairness
//
//   - Each system is first tried with all combinations of its settings, such as the number of tasks
//     that a process may hold, and the number of cores per process. The rounds use the fastest
//     combination.
//   - Each round runs all systems, in a different order. Each run begins with a new server, new
//     processes and some warm-up tasks, which are not measured.
//   - A run with a wrong [work.Sum] is an error.
package throughput

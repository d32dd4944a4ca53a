// Package worker runs a complete worker process of a cluster. A Go program becomes a worker by
// calling [Run], without the command line. Run connects to NATS and to storage, takes part in
// elections, leads if elected, and executes assignments of the leader, until its context ends.
//
//	             ┌──────────────────────── Run ─────────────────────────┐
//	ctx ends ───▶│ executor      slots, tasks, reports to the leader    │◀──▶ NATS
//	eviction ───▶│ election      follows the leader, may take over      │
//	             │ coordinator   leads, while this process is elected   │◀──▶ storage
//	             │ health, page  /healthz, /readyz, /metrics, /         │◀─── HTTP
//	             └──────────────────────────────────────────────────────┘
//
// # Stopping
//
// A process stops gracefully when ctx ends or when Azure evicts the process's machine:
//
//  1. The executor drains: running partitions end, the rest of their spans is given back, and the
//     executor keeps results until the leader has made them durable. This takes at most
//     [Config].DrainTimeout.
//  2. At the same time, if this process leads and another worker can lead, it takes a last checkpoint
//     and hands the lease over. From then on its executor drains under the next leader. If other workers
//     have just begun to drain too, the leader waits a short time, so that it does not choose one of
//     them as its successor. If no other worker can lead, the process leads until its executor has
//     drained.
//  3. When the executor has drained, the election ends. If this process leads, it hands over as in step 2,
//     but it also waits for draining workers that still run partitions if no other worker can lead.
//  4. If Azure evicts the machine, the process approves the eviction. Then connections are closed and
//     Run returns.
//
// The process may die at each of these steps, which is the death of a worker, or of a leader until the lease
// is handed over. If the successor dies before it leads, the others notice that nobody answers, and one of
// them takes over (see package election). If the last checkpoint fails or takes longer than some seconds, the
// process leaves the lease without it: workers, its own executor included, keep what is not durable, and
// report that to the next leader.
//
// # What can fail
//
//	NATS or storage does not answer,  Run retries until ctx ends. /readyz answers 503, and
//	or refuses the credentials        the log has each different error once.
//	NATS or storage goes away later   Running partitions continue. Without storage nobody
//	                                  leads once the lease expires. See packages election
//	                                  and coordinator.
//	storage is full                   Partials and results wait for room, and Submit fails.
//	                                  The leader keeps leading. Jobs can be cancelled and
//	                                  removed, which makes room.
//	another storage than its fleet's  The process logs whose storage is which. It ignores the
//	                                  fleet's leader and takes part in the elections of its
//	                                  own storage. See package wire, Storage.
//	a loop of the process hangs       /healthz answers 503, so that a supervisor restarts
//	                                  the process. A leader whose loop hangs loses its lease.
//	a job's code does not return      Run returns ErrStuck after draining. The job's
//	                                  goroutines are left behind: the program should exit.
//	a field of Config cannot work     Run returns ErrConfig at once, or when storage answers
//	                                  if only storage can tell.
//	a NATS server's max_payload is    Run drains and returns cluster.ErrPayload: messages
//	below wire.MaxMessage             would be lost.
//	the HTTP address is in use        Run returns ErrConfig.
//	the metadata service is away      Logged once. Run polls less often until the service answers.
//	Kubernetes refuses the annotation Logged once with what to do. The annotation keeps its value.
//	the process dies                  Other workers re-run the work that only it held.
package worker

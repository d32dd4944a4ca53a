package main

// section is one benchmark with its settings.
type section struct {
	name  string // of its files
	title string
	about string
	args  []string // after bellwether bench, or after peers
	quick []string // more of them, to try it
}

// peers is the section that bin/peers measures.
const peers = "peers"

// sections are in the order of RESULTS.md.
var sections = []section{
	{
		name: "failover-kill", title: "The leader is killed",
		about: `SIGKILL to the leader's process, with all cores busy. Shares are of what the
survivors do when all is over. Workers hold work ahead, so that it may be a while
before one wants more than it has. The job is run to its end, and once more in one
process, whose bytes must be the same. Beside the slowest window after a blow stands
the slowest of as many undisturbed ones of the same run: a shared machine dips by
itself, and only what is slower than that comes of the blow.`,
		args:  []string{"failover", "--kills", "50"},
		quick: []string{"--kills", "2", "--watch", "2s"},
	},
	{
		name: "failover-azure", title: "The leader is killed, with storage in Azurite",
		about: `The same with storage in Azurite, which stands in for Azure Storage and is slower
than NATS at some things and faster than Azure at most.`,
		args:  []string{"failover", "--kills", "50", "--storage", "azure", "--verify=false"},
		quick: []string{"--kills", "2", "--watch", "2s"},
	},
	{
		name: "failover-term", title: "The leader is told to stop",
		about: `SIGTERM: the leader's process finishes the partitions that run, makes durable what
it has, and hands over. Most of the time until the next one gives work is that: the
others work on meanwhile. Here too the slowest window is to be seen beside the slowest
of as many undisturbed ones of the same run.`,
		args:  []string{"failover", "--kills", "20", "--how", "term", "--verify=false"},
		quick: []string{"--kills", "2", "--watch", "2s"},
	},
	{
		name: "failover-stop", title: "The leader stands still",
		about: `SIGSTOP: the process is there and does not answer, as when a machine is out of
memory. The others give it two seconds, and the next leader gives it one more to say what
it holds. Afterwards it goes on, as a worker.`,
		args:  []string{"failover", "--kills", "10", "--how", "stop", "--verify=false"},
		quick: []string{"--kills", "2", "--watch", "3s"},
	},
	{
		name: "overhead", title: "Against a plain loop",
		about: `The same primes by a plain loop and by a flock of worker processes, in turns, cut
into more and more partitions. Efficiency is the loop's time over the flock's in the same
round: 1 is as fast as the loop. Each column is the median of the rounds, so that the
efficiency is not quite that of the times beside it. The processor time under LEADER is
that of its whole process, which works as the others do: nearly all of it is its share of
the primes, and what leading alone costs is measured below. Storage is JetStream here,
which is within the NATS server, so that its processor time is in that column.`,
		args:  []string{"overhead", "--work", "10s"},
		quick: []string{"--work", "500ms", "--rounds", "2"},
	},
	{
		name: "throughput", title: "Empty partitions and small jobs",
		about: `From submission into a durable result, on a NATS server that syncs to disk.`,
		args:  []string{"throughput"},
		quick: []string{"--partitions", "1e7", "--rounds", "2", "--jobs", "50"},
	},
	{
		name: "scale", title: "What leading costs",
		about: `The leader's process alone, with simulated workers of eight slots: what it costs to
have more workers for the same partitions, and more partitions for the same workers.

Workers space their reports so that no more than 500 a second reach the leader
(ReportsPerSecond of the ledger's Config). So from 50 workers on messages stay at 1,000 a
second, each report and its answer, and processor time grows little. What goes on growing
with workers is memory and the checkpoint.

With few partitions, leading costs less than usual: 1,000 workers have 8,000 slots,
so of 10^3 partitions most slots get none, and of 10^5 a slot has done one or none since
its worker's last report, which is nearly empty then. From about 10^6 on every report is
full. More partitions than that are no more spans, reports and calls of storage: what a
slot has done between two reports is merged on its worker to a few nodes, whose number
grows with the logarithm of the partitions.`,
		// The middle half is four times the 4 s between two reports of one of 2,000 workers.
		args:  []string{"scale", "--lasts", "32s"},
		quick: []string{"--workers", "1,10", "--partitions", "1e3,1e9", "--at-workers", "20", "--lasts", "2s"},
	},
	{
		name: peers, title: "Peers",
		about: `Other systems beside Bellwether, in turns on one machine:
[bench/peers](peers/README.md) says how, and what is fair about it. Tasks are a hash of
their number, which is nearly nothing, or paths of a share's price as the job montecarlo
simulates them. The sieve of primes is not among them: its slots carry work over from one
partition to the next, which the consumers of a queue cannot.

10,000 empty tasks are done before most systems run at their full speed, and what counts
is how soon a job begins and ends: for Bellwether to submit it, to hand out spans, and to
make the merged result durable. The rate of as many tasks as take about 3 s is the one at
saturation. A queue's time ends when its last task was done, not when the queue knows.
That matters most to JetStream that syncs: it removes each task with a sync of its own,
about ten times more slowly than tasks are done, since they are inserted in batches with
one sync each. 10,000 tasks are done long before the queue knows so. Of more, 100,000 at
a time may be done and not known to be: then it is the removals that are waited for, and
a run takes far longer than its number of tasks, which comes of shorter runs, was chosen
for.

Failovers here are not those of the sections above: three candidates with nothing to do,
on an idle machine, and time runs until the next leader has done what only a leader may.
For Bellwether that is to hand out work, of sleeping partitions, to workers of 32 slots.
Above, worker processes keep all cores busy.`,
		args:  []string{"-rounds", "3"}, // the usual five take forty minutes
		quick: []string{"-rounds", "1", "-kills", "1", "-for", "300ms", "-same", "1000", "-busy", "200ms"},
	},
}

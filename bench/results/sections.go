package main

// section is one benchmark with its settings.
type section struct {
	name  string // of its files
	title string
	about string
	args  []string // after bellwether bench
	quick []string // more of them, to try it
}

// sections are in the order of RESULTS.md.
var sections = []section{
	{
		name: "failover-kill", title: "The leader is killed",
		about: `SIGKILL to the leader's process, with all cores busy. Shares are of what the
survivors do when all is over. Workers hold work ahead, so that it may be a while
before one wants more than it has. The job is run to its end, and once more in one
process, whose bytes must be the same.`,
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
it has, and hands over.`,
		args:  []string{"failover", "--kills", "20", "--how", "term", "--verify=false"},
		quick: []string{"--kills", "2", "--watch", "2s"},
	},
	{
		name: "failover-stop", title: "The leader stands still",
		about: `SIGSTOP: the process is there and does not answer, as when a machine is out of
memory. The others give it two seconds. Afterwards it goes on, as a worker.`,
		args:  []string{"failover", "--kills", "10", "--how", "stop", "--verify=false"},
		quick: []string{"--kills", "2", "--watch", "3s"},
	},
	{
		name: "overhead", title: "Against a plain loop",
		about: `The same primes by a plain loop and by a flock of worker processes, in turns, cut
into more and more partitions.`,
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
		about: `The leader's process alone, with simulated workers of eight slots. It depends on how
many workers there are, and little on how many partitions.`,
		args:  []string{"scale", "--lasts", "20s"},
		quick: []string{"--workers", "1,10", "--partitions", "1e3,1e9", "--at-workers", "20", "--lasts", "2s"},
	},
}

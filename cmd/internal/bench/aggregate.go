package bench

import (
	"cmp"
	"context"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/bench"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/machine"
)

const (
	leastVector = 8
	mostVector  = 2_000_000_000
)

// aggregateFlags are the flags of the command aggregate.
type aggregateFlags struct {
	benchmark
	workers int
	sizes   numberList
	total   numberList
	least   int
	rounds  int
	kill    string
	memory  string
	shard   string
	bytes   uint64 // size of a shard
}

func aggregateCommand(a *console.App) *cobra.Command {
	f := aggregateFlags{
		sizes: numberList{list: []uint64{8e3, 8e4, 8e5, 8e6, 8e7, 16e7}, least: leastVector, most: mostVector},
		total: numberList{list: []uint64{8e9}, least: leastVector, most: 1e13},
	}
	cmd := &cobra.Command{
		Use:   "aggregate",
		Short: "Compare sums of large vectors with a plain loop",
		Long: `Add up vectors of numbers, in turns: by plain loops that reuse their memory, by the
same job in this process, and by a cluster of worker processes with one slot each.
The loops and the job in this process have a goroutine for each core. LOOP adds one
vector after the other. PAIRWISE adds vectors in pairs, sums of pairs in pairs, and so
on, as the job does, so that the sum does not depend on which worker adds what. It uses
more memory at a time, which is slower if the vectors of LOOP fit into the processor's
cache and those of PAIRWISE do not. For each size there are as many vectors as make up
the total. The first write to new memory is slow, so the cluster runs the job once
before it is measured: FIRST RUN. PAIRWISE is measured likewise.

With --shard, vectors are computed and added shard by shard, and a loop that does the
same takes the place of PAIRWISE: IN SHARDS.

With --kill, the job runs once more in the cluster, and the process is killed when half
of the vectors are done. LOST WORK is the time that the cluster needs
for the vectors that are computed again. If the leader is killed, LOST WORK is too
small by what the other workers compute before the next leader asks them. EXTRA should
be at most 1 s longer than LOST WORK: see MET. LEADER MOVES is how many more bytes the
leader's process read and wrote than the other workers' processes did on average, as a
share of the bytes that were merged. PINGS P99 is the time within which the leader
answered 99 % of pings while the job ran, and LEADERS how many leaders the job had.`,
		Example: "  " + a.Name + " bench aggregate --sizes 8e6 --total 1e9 --kill leader",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			shapes, err := f.check()
			if err != nil {
				return err
			}
			_, err = measure(cmd.Context(), a, &f.benchmark, func(ctx context.Context, tell tell) (r bench.AggregateReport, err error) {
				return f.run(ctx, a, shapes, tell)
			})
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.register(cmd)
	return cmd
}

func (f *aggregateFlags) register(cmd *cobra.Command) {
	f.benchmark.register(cmd)
	cmd.Flags().IntVar(&f.workers, "workers", 4, "number of worker processes")
	cmd.Flags().Var(&f.sizes, "sizes", "sizes of a vector in bytes")
	cmd.Flags().Var(&f.total, "total", "bytes of all vectors of one size")
	cmd.Flags().IntVar(&f.least, "least", 64, "the least number of vectors of one size, even if they exceed the total")
	cmd.Flags().IntVar(&f.rounds, "rounds", 3, "number of measurements of each")
	cmd.Flags().StringVar(&f.kill, "kill", "", "also measure with this process killed: leader or worker")
	cmd.Flags().StringVar(&f.memory, "memory", "", "memory of each worker for large partials, such as 3GiB (default that of worker)")
	cmd.Flags().StringVar(&f.shard, "shard", "", "size of a shard, such as 256KiB, a multiple of 64 KiB (default whole vectors)")
	console.CompleteWords(cmd, "kill", "leader", "worker")
}

// check returns the shapes of the vectors to add up, and an error if a flag is out of range.
func (f *aggregateFlags) check() (shapes []bench.AggregateShape, err error) {
	if f.kill != "" && f.kill != string(bench.KillLeader) && f.kill != string(bench.KillWorker) {
		return nil, console.Usagef("--kill: want leader or worker, got %q", f.kill)
	}
	if len(f.total.list) != 1 {
		return nil, console.Usagef("--total: want one number")
	}
	if _, err := machine.ParseMemory(f.memory); err != nil {
		return nil, err
	}
	if f.shard != "" {
		if f.bytes, err = humanize.ParseBytes(f.shard); err != nil || f.bytes == 0 || f.bytes%(64<<10) != 0 || f.bytes > mostVector {
			return nil, console.Usagef("--shard: want a multiple of 64 KiB, up to 2 GB, such as 256KiB, got %q", f.shard)
		}
	}
	for _, size := range f.sizes.list {
		if size%8 != 0 {
			return nil, console.Usagef("--sizes: want multiples of 8, got %d", size)
		}
		shapes = append(shapes, bench.AggregateShape{Bytes: size, Partitions: max(uint64(f.least), f.total.list[0]/size)})
	}
	fewest := 1
	if f.kill != "" {
		fewest = 2
	}
	return shapes, cmp.Or(
		between("workers", f.workers, fewest, mostProcesses),
		between("least", f.least, 1, mostJobPartitions),
		between("rounds", f.rounds, 1, mostRounds),
		f.benchmark.check(),
	)
}

// run starts the workers and measures.
func (f *aggregateFlags) run(ctx context.Context, a *console.App, shapes []bench.AggregateShape, tell tell) (r bench.AggregateReport, err error) {
	var flags []string
	if f.memory != "" {
		flags = []string{"--memory", f.memory}
	}
	tell("starting the workers", 0, 0)
	g, err := startFlock(ctx, a, &f.benchmark, f.workers, 1, flags...)
	if err != nil {
		return r, err
	}
	defer g.close()
	return bench.Aggregate(ctx, bench.AggregateConfig{
		Cluster: g.client, Flock: g.workers, Workers: f.workers,
		Shapes: shapes, Shard: f.bytes, Rounds: f.rounds, Kill: bench.Victim(f.kill), Progress: tell,
	})
}

package bench

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/bench"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/machine"
)

const (
	leastVector = 8
	mostVector  = 2_000_000_000
)

func aggregateCommand(a *console.App) *cobra.Command {
	var (
		b       benchmark
		workers int
		sizes   = numberList{list: []uint64{8e3, 8e4, 8e5, 8e6, 8e7, 16e7}, least: leastVector, most: mostVector}
		total   = numberList{list: []uint64{8e9}, least: leastVector, most: 1e13}
		least   int
		rounds  int
		kill    string
		memory  string
	)
	victims := []string{string(bench.KillNobody), string(bench.KillLeader), string(bench.KillWorker)}
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
			if !slices.Contains(victims, kill) {
				return console.Usagef("--kill: want leader or worker, got %q", kill)
			}
			if len(total.list) != 1 {
				return console.Usagef("--total: want one number")
			}
			var flags []string
			if memory != "" {
				if _, err := machine.ParseMemory(memory); err != nil {
					return err
				}
				flags = []string{"--memory", memory}
			}
			var shapes []bench.AggregateShape
			for _, size := range sizes.list {
				if size%8 != 0 {
					return console.Usagef("--sizes: want multiples of 8, got %d", size)
				}
				shapes = append(shapes, bench.AggregateShape{Bytes: size, Partitions: max(uint64(least), total.list[0]/size)})
			}
			fewest := 1
			if kill != "" {
				fewest = 2
			}
			err := cmp.Or(
				between("workers", workers, fewest, mostProcesses),
				between("least", least, 1, mostJobPartitions),
				between("rounds", rounds, 1, mostRounds),
				b.check(),
			)
			if err != nil {
				return err
			}
			_, err = measure(cmd.Context(), a, &b, func(ctx context.Context, tell tell) (r bench.AggregateReport, err error) {
				tell("starting the workers", 0, 0)
				g, err := startFlock(ctx, a, &b, workers, 1, flags...)
				if err != nil {
					return r, err
				}
				defer g.close()
				return bench.Aggregate(ctx, bench.AggregateConfig{
					Cluster: g.client, Flock: g.workers, Workers: workers,
					Shapes: shapes, Rounds: rounds, Kill: bench.Victim(kill), Progress: tell,
				})
			})
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	b.register(cmd)
	cmd.Flags().IntVar(&workers, "workers", 4, "number of worker processes")
	cmd.Flags().Var(&sizes, "sizes", "sizes of a vector in bytes")
	cmd.Flags().Var(&total, "total", "bytes of all vectors of one size")
	cmd.Flags().IntVar(&least, "least", 64, "the least number of vectors of one size, even if they exceed the total")
	cmd.Flags().IntVar(&rounds, "rounds", 3, "number of measurements of each")
	cmd.Flags().StringVar(&kill, "kill", "", "also measure with this process killed: leader or worker")
	cmd.Flags().StringVar(&memory, "memory", "", "memory of each worker for large partials, such as 3GiB (default that of worker)")
	console.CompleteWords(cmd, "kill", "leader", "worker")
	return cmd
}

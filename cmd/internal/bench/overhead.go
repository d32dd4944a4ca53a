package bench

import (
	"cmp"
	"context"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/bench"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
)

func overheadCommand(a *console.App) *cobra.Command {
	var (
		b          benchmark
		workers    int
		partitions = numberList{list: []uint64{1e3, 1e4, 1e5, 1e6, 1e7}, least: 1, most: 1e9}
		work       time.Duration
		rounds     int
	)
	cmd := &cobra.Command{
		Use:   "overhead",
		Short: "Compare a cluster with a plain loop",
		Long: `Compute the same primes by a plain loop in this process and by a cluster of worker
processes with one slot each, in turns, cut into more and more partitions. Efficiency
is the loop's time divided by the cluster's, from the submission to the durable
result. Processor time is given by process; storage on NATS is part of NATS.`,
		Example: "  " + a.Name + " bench overhead --partitions 1e4,1e6",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := cmp.Or(
				between("workers", workers, 1, mostProcesses),
				between("work", work, 100*time.Millisecond, longest),
				between("rounds", rounds, 1, mostRounds),
				b.check(),
			)
			if err != nil {
				return err
			}
			_, err = measure(cmd.Context(), a, &b, func(ctx context.Context, tell tell) (r bench.OverheadReport, err error) {
				tell("starting the workers", 0, 0)
				g, err := startFlock(ctx, a, &b, workers, 1)
				if err != nil {
					return r, err
				}
				defer g.close()
				cfg := bench.OverheadConfig{
					Cluster: g.client, Flock: g.workers, Workers: workers,
					Partitions: partitions.list, Work: work, Rounds: rounds, Progress: tell,
				}
				if g.Azurite != nil {
					cfg.Storage = g.Azurite.PID()
				}
				return bench.Overhead(ctx, cfg)
			})
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	b.register(cmd)
	cmd.Flags().IntVar(&workers, "workers", runtime.GOMAXPROCS(0), "number of worker processes, and of goroutines of the loop")
	cmd.Flags().Var(&partitions, "partitions", "numbers of partitions that the work is cut into")
	cmd.Flags().DurationVar(&work, "work", 5*time.Second, "approximate time of the loop, 100ms to 1h")
	cmd.Flags().IntVar(&rounds, "rounds", 5, "number of measurements of each")
	return cmd
}

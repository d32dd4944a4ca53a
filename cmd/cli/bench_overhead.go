package cli

import (
	"cmp"
	"context"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/bench"
)

func (a *app) benchOverheadCommand() *cobra.Command {
	var (
		b          benchmark
		workers    int
		partitions = numberList{list: []uint64{1e3, 1e4, 1e5, 1e6, 1e7}, least: 1, most: 1e9}
		work       time.Duration
		rounds     int
	)
	cmd := &cobra.Command{
		Use:   "overhead",
		Short: "How much slower a flock is than a plain loop",
		Long: `Find the same primes with a plain loop in this process and with a flock of worker
processes of one slot each, in turns, cut into more and more partitions. Efficiency
is the loop's time over the flock's, from the submission to the durable result. CPU
seconds are those of each process; storage on NATS is within NATS' process.`,
		Example: "  " + a.name + " bench overhead --partitions 1e4,1e6",
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
				g, err := a.startBenchFlock(ctx, &b, workers, 1)
				if err != nil {
					return r, err
				}
				defer g.close()
				cfg := bench.OverheadConfig{
					Cluster: g.client, Flock: g.workers, Workers: workers,
					Partitions: partitions.list, Work: work, Rounds: rounds, Progress: tell,
				}
				if g.azurite != nil {
					cfg.Storage = g.azurite.PID()
				}
				return bench.Overhead(ctx, cfg)
			})
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	b.register(cmd)
	cmd.Flags().IntVar(&workers, "workers", runtime.GOMAXPROCS(0), "how many worker processes to run, and goroutines of the loop")
	cmd.Flags().Var(&partitions, "partitions", "what the same work is cut into")
	cmd.Flags().DurationVar(&work, "work", 5*time.Second, "about how long the loop takes, from 100ms to 1h")
	cmd.Flags().IntVar(&rounds, "rounds", 5, "how often each is measured")
	return cmd
}

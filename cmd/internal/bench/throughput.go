package bench

import (
	"cmp"
	"context"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/bench"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs"
)

func throughputCommand(a *console.App) *cobra.Command {
	var (
		b          benchmark
		workers    int
		partitions = numberList{list: []uint64{1e8}, least: 1, most: jobs.MaxPartitions}
		atOnce     = numberList{list: []uint64{1, 10, 100}, least: 1, most: 10_000}
		cfg        bench.ThroughputConfig
	)
	cmd := &cobra.Command{
		Use:   "throughput",
		Short: "Measure the rate of empty partitions and of small jobs",
		Long: `Measure how many empty partitions per second a cluster completes, from submission to
the durable result; then how many small jobs, with several numbers of jobs at the
same time.`,
		Example: "  " + a.Name + " bench throughput --at-once 1,10,100",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(partitions.list) != 1 {
				return console.Usagef("--partitions: want one number, got %s", partitions.String())
			}
			err := cmp.Or(
				between("workers", workers, 1, mostProcesses),
				between("rounds", cfg.Rounds, 1, mostRounds),
				between("jobs", cfg.Jobs, 1, mostJobs),
				between("job-partitions", cfg.Small, 1, mostJobPartitions),
				b.check(),
			)
			if err != nil {
				return err
			}
			cfg.Workers, cfg.Partitions = workers, partitions.list[0]
			for _, n := range atOnce.list {
				cfg.AtOnce = append(cfg.AtOnce, int(n))
			}
			_, err = measure(cmd.Context(), a, &b, func(ctx context.Context, tell tell) (r bench.ThroughputReport, err error) {
				tell("starting the workers", 0, 0)
				g, err := startFlock(ctx, a, &b, workers, 1)
				if err != nil {
					return r, err
				}
				defer g.close()
				cfg.Cluster, cfg.Progress = g.client, tell
				return bench.Throughput(ctx, cfg)
			})
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	b.register(cmd)
	cmd.Flags().IntVar(&workers, "workers", runtime.GOMAXPROCS(0), "number of worker processes with one slot")
	cmd.Flags().Var(&partitions, "partitions", "empty partitions in one job")
	cmd.Flags().IntVar(&cfg.Rounds, "rounds", 5, "number of measurements with empty partitions")
	cmd.Flags().Var(&atOnce, "at-once", "numbers of small jobs at the same time")
	cmd.Flags().IntVar(&cfg.Jobs, "jobs", 500, "small jobs in each measurement")
	cmd.Flags().IntVar(&cfg.Small, "job-partitions", 10, "partitions of a small job")
	return cmd
}

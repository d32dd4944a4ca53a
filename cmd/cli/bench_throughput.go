package cli

import (
	"cmp"
	"context"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/bench"
	"github.com/bellwether-compute/bellwether/jobs"
)

func (a *app) benchThroughputCommand() *cobra.Command {
	var (
		b          benchmark
		workers    int
		partitions = numberList{list: []uint64{1e8}, least: 1, most: jobs.MaxPartitions}
		atOnce     = numberList{list: []uint64{1, 10, 100}, least: 1, most: 10_000}
		cfg        bench.ThroughputConfig
	)
	cmd := &cobra.Command{
		Use:   "throughput",
		Short: "How many empty partitions, and how many small jobs, a flock gets through",
		Long: `Count partitions that do nothing, from submission into a durable result; then small
jobs, of which some number is kept under way: submitted, run and durably finished.`,
		Example: "  " + a.name + " bench throughput --at-once 1,10,100",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(partitions.list) != 1 {
				return usagef("--partitions: want one number, got %s", partitions.String())
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
				g, err := a.startBenchFlock(ctx, &b, workers, 1)
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
	cmd.Flags().IntVar(&workers, "workers", runtime.GOMAXPROCS(0), "how many worker processes of one slot to run")
	cmd.Flags().Var(&partitions, "partitions", "partitions that do nothing, in one job")
	cmd.Flags().IntVar(&cfg.Rounds, "rounds", 5, "how often that is measured")
	cmd.Flags().Var(&atOnce, "at-once", "how many small jobs to keep under way")
	cmd.Flags().IntVar(&cfg.Jobs, "jobs", 500, "how many small jobs, for each of these")
	cmd.Flags().IntVar(&cfg.Small, "job-partitions", 10, "partitions of a small job")
	return cmd
}

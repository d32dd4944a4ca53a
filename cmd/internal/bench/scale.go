package bench

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/bench"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// scaleFlags are the flags of the command scale.
type scaleFlags struct {
	benchmark
	cfg                     bench.ScaleConfig
	workers, partitions     numberList
	atWorkers, atPartitions numberList
}

func scaleCommand(a *console.App) *cobra.Command {
	f := scaleFlags{
		workers:      numberList{list: []uint64{1, 10, 100, 1000, 2000}, least: 1, most: 10_000},
		partitions:   numberList{list: []uint64{1e3, 1e5, 1e7, 1e9}, least: 1, most: jobs.MaxPartitions},
		atWorkers:    numberList{list: []uint64{1000}, least: 1, most: 10_000},
		atPartitions: numberList{list: []uint64{1e6}, least: 1, most: jobs.MaxPartitions},
	}
	cmd := &cobra.Command{
		Use:   "scale",
		Short: "Measure the cost of leading, by workers and by partitions",
		Long: `Lead clusters of more and more workers, and jobs of more and more partitions, in a
separate process, and measure that process: cores, memory, messages, storage. The
workers are simulated: they talk to the leader over NATS like real ones, and wait
instead of computing. All workers together report at most 500 times a second. Set
--lasts to about eight times the interval between two reports of a worker: 32s for
2,000 workers.`,
		Example: "  " + a.Name + " bench scale --workers 1,1000 --partitions 1e3,1e9",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.config(a)
			if err != nil {
				return err
			}
			_, err = measure(cmd.Context(), a, &f.benchmark, func(ctx context.Context, tell tell) (r bench.ScaleReport, err error) {
				g, err := startGround(ctx, a, &f.benchmark)
				if err != nil {
					return r, err
				}
				defer g.close()
				cfg.URL, cfg.Progress, cfg.StartLeader = g.NATS.URL(), tell, g.startLeader
				return bench.Scale(ctx, cfg)
			})
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.register(cmd)
	return cmd
}

func (f *scaleFlags) register(cmd *cobra.Command) {
	f.benchmark.register(cmd)
	cmd.Flags().Var(&f.workers, "workers", "numbers of workers, each with a job of --at-partitions")
	cmd.Flags().Var(&f.partitions, "partitions", "numbers of partitions, each with --at-workers")
	cmd.Flags().Var(&f.atWorkers, "at-workers", "number of workers for all --partitions (one NUMBER)")
	cmd.Flags().Var(&f.atPartitions, "at-partitions", "number of partitions for all --workers (one NUMBER)")
	cmd.Flags().IntVar(&f.cfg.Slots, "slots", 8, "slots of each worker")
	cmd.Flags().IntVar(&f.cfg.Viewers, "viewers", 0, "browsers that look at each job; measures what they add to the cost of leading")
	cmd.Flags().DurationVar(&f.cfg.Lasts, "lasts", 10*time.Second, "approximate time of each job, 1s to 1h")
}

// config returns the configuration of the benchmark, and an error if a flag is out of range. It
// selects the storage JetStream, whatever the environment says.
func (f *scaleFlags) config(a *console.App) (cfg bench.ScaleConfig, err error) {
	switch {
	case len(f.atWorkers.list) != 1 || len(f.atPartitions.list) != 1:
		return cfg, console.Usagef("--at-workers and --at-partitions: want one number each")
	case a.Target.Storage != "" && a.Target.Storage != string(cluster.JetStream):
		return cfg, console.Usagef("--storage must be %s here, got %q: the cost of storage is given as a number of calls, which does not depend on the storage", cluster.JetStream, a.Target.Storage)
	}
	a.Target.Storage = string(cluster.JetStream)
	cfg = f.cfg
	for _, n := range f.workers.list {
		cfg.Workers = append(cfg.Workers, int(n))
	}
	cfg.Partitions = f.partitions.list
	cfg.FixedWorkers, cfg.FixedPartitions = int(f.atWorkers.list[0]), f.atPartitions.list[0]
	return cfg, cmp.Or(
		between("viewers", cfg.Viewers, 0, 32),
		between("slots", cfg.Slots, 1, wire.MaxSlots),
		between("lasts", cfg.Lasts, time.Second, longest),
		f.benchmark.check(),
	)
}

package bench

import (
	"cmp"
	"context"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/bench"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
)

// reuseFlags are the flags of the command reuse.
type reuseFlags struct {
	benchmark
	cfg     bench.ReuseConfig
	dir     string
	workers int
}

func reuseCommand(a *console.App) *cobra.Command {
	var f reuseFlags
	cmd := &cobra.Command{
		Use:   "reuse",
		Short: "Measure runs that reuse partials of earlier runs",
		Long: `Measure runs of the job scan that reuse partials of earlier runs: a group-by over CSV files
that this command writes and removes. After the first run, one file is added, changed,
inserted or removed, and a kept file is damaged. Beside each run, a run of the same files that
reuses nothing must have the same bytes. The cost of keeping is the first run beside a run
that keeps nothing.

The scan runs in this process, as 'run --reuse' does, and in a cluster of worker processes
with one slot each, as 'submit --reuse' does. The times of a cluster are from the submission
to the durable result, and the processor times are those of all workers.

The last line is the search for what is kept of a job of many small partitions, all of which
are kept.`,
		Example: "  " + a.Name + " bench reuse",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			folder, err := os.MkdirTemp(f.dir, "bellwether-reuse-*")
			if err != nil {
				return err
			}
			defer os.RemoveAll(folder)
			_, err = measure(cmd.Context(), a, &f.benchmark, func(ctx context.Context, tell tell) (bench.ReuseReport, error) {
				return f.run(ctx, a, folder, tell)
			})
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.register(cmd)
	return cmd
}

func (f *reuseFlags) register(cmd *cobra.Command) {
	f.benchmark.register(cmd)
	cmd.Flags().IntVar(&f.cfg.Files, "files", 365, "number of files")
	cmd.Flags().IntVar(&f.cfg.Bytes, "bytes", 4_000_000, "bytes of a file, which is one partition")
	cmd.Flags().IntVar(&f.cfg.Keys, "keys", 1000, "number of groups")
	cmd.Flags().IntVar(&f.cfg.Slots, "slots", runtime.GOMAXPROCS(0), "number of partitions to run at once in this process")
	cmd.Flags().IntVar(&f.cfg.Rounds, "rounds", 5, "number of measurements of the first run, of which the median is printed")
	cmd.Flags().IntVar(&f.workers, "workers", 3, "number of worker processes; 0: no cluster")
	cmd.Flags().Uint64Var(&f.cfg.Lookups, "lookups", 1_000_000, "number of partitions of the job whose kept partials are looked for; 0: no such job")
	cmd.Flags().StringVar(&f.dir, "dir", "", "folder for the files (default that for temporary files)")
	console.CompleteFolders(cmd, "dir")
}

// check returns an error if a flag is out of range.
func (f *reuseFlags) check() error {
	return cmp.Or(
		between("files", f.cfg.Files, 3, 100_000),
		between("bytes", f.cfg.Bytes, 1000, 1<<30),
		between("keys", f.cfg.Keys, 1, 1_000_000),
		between("slots", f.cfg.Slots, 1, mostProcesses),
		between("rounds", f.cfg.Rounds, 1, mostRounds),
		between("workers", f.workers, 0, mostProcesses),
		between("lookups", f.cfg.Lookups, 0, 100_000_000),
		f.checkAlone(),
		f.benchmark.check(),
	)
}

// run starts the workers and measures. The files are in a folder.
func (f *reuseFlags) run(ctx context.Context, a *console.App, folder string, tell tell) (r bench.ReuseReport, err error) {
	cfg := f.cfg
	cfg.Dir, cfg.Progress = folder, tell
	if f.workers > 0 {
		tell("starting the workers", 0, 0)
		g, err := startFlock(ctx, a, &f.benchmark, f.workers, 1, "--files", folder)
		if err != nil {
			return r, err
		}
		defer g.close()
		cfg.Cluster = &bench.ReuseCluster{Cluster: g.client, Flock: g.workers, Workers: f.workers}
	}
	return bench.Reuse(ctx, cfg)
}

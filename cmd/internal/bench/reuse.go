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

func reuseCommand(a *console.App) *cobra.Command {
	var (
		f   benchmark
		cfg bench.ReuseConfig
		dir string
	)
	cmd := &cobra.Command{
		Use:   "reuse",
		Short: "Measure runs that reuse partials of earlier runs",
		Long: `Measure runs of the job scan that reuse partials of earlier runs, as 'run --reuse' does: a
group-by over CSV files that this command writes and removes. After the first run, one file
is added, changed, inserted or removed, and a kept file is damaged. Beside each run, a run of
the same files that reuses nothing must have the same bytes. The cost of keeping is the
first run beside a run that keeps nothing. All runs are in this process.`,
		Example: "  " + a.Name + " bench reuse",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := cmp.Or(
				between("files", cfg.Files, 3, 100_000),
				between("bytes", cfg.Bytes, 1000, 1<<30),
				between("keys", cfg.Keys, 1, 1_000_000),
				between("slots", cfg.Slots, 1, mostProcesses),
				between("rounds", cfg.Rounds, 1, mostRounds),
				f.checkAlone(),
				f.check(),
			)
			if err != nil {
				return err
			}
			folder, err := os.MkdirTemp(dir, "bellwether-reuse-*")
			if err != nil {
				return err
			}
			defer os.RemoveAll(folder)
			_, err = measure(cmd.Context(), a, &f, func(ctx context.Context, tell tell) (bench.ReuseReport, error) {
				cfg.Dir, cfg.Progress = folder, tell
				return bench.Reuse(ctx, cfg)
			})
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.register(cmd)
	cmd.Flags().IntVar(&cfg.Files, "files", 365, "number of files")
	cmd.Flags().IntVar(&cfg.Bytes, "bytes", 4_000_000, "bytes of a file, which is one partition")
	cmd.Flags().IntVar(&cfg.Keys, "keys", 1000, "number of groups")
	cmd.Flags().IntVar(&cfg.Slots, "slots", runtime.GOMAXPROCS(0), "number of partitions to run at once")
	cmd.Flags().IntVar(&cfg.Rounds, "rounds", 5, "number of measurements of the first run, of which the median is printed")
	cmd.Flags().StringVar(&dir, "dir", "", "folder for the files (default that for temporary files)")
	console.CompleteFolders(cmd, "dir")
	return cmd
}

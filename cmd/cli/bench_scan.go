package cli

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/bench"
)

func (a *app) benchScanCommand() *cobra.Command {
	var (
		b   benchmark
		dir string
		cfg bench.ScanConfig
	)
	cmd := &cobra.Command{
		Use:   "scan",
		Short: "Measure the job scan beside a loop written by hand",
		Long: `Measure the job scan: the minimum, mean and maximum of a column by 413 keys, in a CSV
file that this command writes and removes. Beside it, a loop that is written by hand for
this one query reads the same file, with as many goroutines. Both run in this process, so
the figures are without a cluster.`,
		Example: "  " + a.name + " bench scan --rows 100000000",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := cmp.Or(
				between("rows", cfg.Rows, 1, 10_000_000_000),
				between("slots", cfg.Slots, 1, mostProcesses),
				between("rounds", cfg.Rounds, 1, mostRounds),
				b.check(),
			)
			if err != nil {
				return err
			}
			folder, err := os.MkdirTemp(dir, "bellwether-scan-*")
			if err != nil {
				return err
			}
			defer os.RemoveAll(folder)
			_, err = measure(cmd.Context(), a, &b, func(ctx context.Context, tell tell) (bench.ScanReport, error) {
				cfg.File, cfg.Progress = filepath.Join(folder, "measurements.csv"), tell
				return bench.Scan(ctx, cfg)
			})
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	b.register(cmd)
	cmd.Flags().Uint64Var(&cfg.Rows, "rows", 10_000_000, "rows of the file, about 16 bytes each")
	cmd.Flags().IntVar(&cfg.Slots, "slots", runtime.GOMAXPROCS(0), "slots of the scan, and goroutines of the loop")
	cmd.Flags().IntVar(&cfg.Rounds, "rounds", 3, "number of measurements, of which the median is printed")
	cmd.Flags().StringVar(&dir, "dir", "", "folder for the file (default that for temporary files)")
	completeFolders(cmd, "dir")
	return cmd
}

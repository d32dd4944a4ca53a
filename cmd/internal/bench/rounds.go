package bench

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/bench"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

// roundsFlags are the flags of the command rounds.
type roundsFlags struct {
	benchmark
	cfg     bench.RoundsConfig
	workers numberList
	dir     string
}

func roundsCommand(a *console.App) *cobra.Command {
	f := roundsFlags{workers: numberList{list: []uint64{2, 4}, least: 1, most: mostProcesses}}
	cmd := &cobra.Command{
		Use:   "rounds",
		Short: "Measure jobs with rounds, and k-means beside a plain loop",
		Long: `Measure jobs with rounds in clusters of worker processes with one slot each: the time of a
round without work, and the job kmeans over a CSV file that this command writes and removes.
Beside it, a plain loop with one goroutine for each core computes the same rounds over rows
that it has in memory, from the same first centres and with the same code for the nearest
centre. The job's first round, which reads the file, is shown apart. Both must end with the
same inertia.

The rows are in memory twice: in this process and in those of the workers.`,
		Example: "  " + a.Name + " bench rounds --rows 10000000",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			folder, err := os.MkdirTemp(f.dir, "bellwether-rounds-*")
			if err != nil {
				return err
			}
			defer os.RemoveAll(folder)
			_, err = measure(cmd.Context(), a, &f.benchmark, func(ctx context.Context, tell tell) (bench.RoundsReport, error) {
				return f.run(ctx, a, folder, tell)
			})
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f.register(cmd)
	return cmd
}

func (f *roundsFlags) register(cmd *cobra.Command) {
	f.benchmark.register(cmd)
	cmd.Flags().Var(&f.workers, "workers", "numbers of worker processes")
	cmd.Flags().Uint64Var(&f.cfg.Partitions, "partitions", 1000, "partitions of a round without work")
	cmd.Flags().Uint64Var(&f.cfg.EmptyRounds, "empty-rounds", 50, "number of rounds without work")
	cmd.Flags().IntVar(&f.cfg.Rows, "rows", 1_000_000, "rows of k-means")
	cmd.Flags().IntVar(&f.cfg.Columns, "columns", 16, "columns of k-means, about 7 bytes each in the file")
	cmd.Flags().IntVar(&f.cfg.K, "k", 64, "clusters of k-means")
	cmd.Flags().IntVar(&f.cfg.Moves, "rounds", 20, "rounds of k-means that are compared with the loop")
	cmd.Flags().StringVar(&f.dir, "dir", "", "folder for the file (default that for temporary files)")
	console.CompleteFolders(cmd, "dir")
}

// check returns an error if a flag is out of range.
func (f *roundsFlags) check() error {
	return cmp.Or(
		between("partitions", f.cfg.Partitions, 1, 1_000_000),
		between("empty-rounds", f.cfg.EmptyRounds, 2, 100),
		between("rows", f.cfg.Rows, 1, 1_000_000_000),
		between("columns", f.cfg.Columns, 1, 1000),
		between("k", f.cfg.K, 1, min(10_000, f.cfg.Rows)),
		between("rounds", f.cfg.Moves, 1, 99),
		f.checkAlone(),
		f.benchmark.check(),
	)
}

// run measures clusters that have their file in a folder.
func (f *roundsFlags) run(ctx context.Context, a *console.App, folder string, tell tell) (bench.RoundsReport, error) {
	cfg := f.cfg
	cfg.File, cfg.Progress = filepath.Join(folder, "points.csv"), tell
	for _, n := range f.workers.list {
		cfg.Clusters = append(cfg.Clusters, bench.RoundsCluster{Workers: int(n), Start: func(ctx context.Context) (*client.Client, func(), error) {
			g, err := startFlock(ctx, a, &f.benchmark, int(n), 1, "--files", folder)
			if err != nil {
				return nil, nil, err
			}
			return g.client, g.close, nil
		}})
	}
	return bench.Rounds(ctx, cfg)
}

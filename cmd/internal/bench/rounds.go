package bench

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

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
		Short: "Measure jobs with rounds, some of them beside a plain loop",
		Long: `Measure jobs with rounds in clusters of worker processes with one slot each: the time of a
round without work, and three jobs beside plain loops. The loops have one goroutine for each
core and their data in memory. Job and loop must end with the same numbers.

  k-means              rows of a CSV file that this command writes and removes; the loop has the
                       same first centres and the same code for the nearest centre
  logistic regression  rows of a second file
  large states         a state and 4 partials of many bytes, with little work for each byte

The first round, which reads the file, is shown apart. All rows are in memory twice: in this
process and in those of the workers.`,
		Example: "  " + a.Name + " bench rounds --rows 10000000\n  " + a.Name + " bench rounds --jobs glm,large --glm-rows 1000000",
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
	cmd.Flags().StringSliceVar(&f.cfg.Jobs, "jobs", bench.RoundsJobs, "the jobs that are measured")
	cmd.Flags().Uint64Var(&f.cfg.Partitions, "partitions", 1000, "partitions of a round without work")
	cmd.Flags().Uint64Var(&f.cfg.EmptyRounds, "empty-rounds", 50, "number of rounds without work")
	cmd.Flags().IntVar(&f.cfg.Rows, "rows", 1_000_000, "rows of k-means")
	cmd.Flags().IntVar(&f.cfg.Columns, "columns", 16, "columns of k-means, about 7 bytes each in the file")
	cmd.Flags().IntVar(&f.cfg.K, "k", 64, "clusters of k-means")
	cmd.Flags().IntVar(&f.cfg.Moves, "rounds", 20, "rounds of k-means that are compared with the loop")
	cmd.Flags().IntVar(&f.cfg.ModelRows, "glm-rows", 10_000_000, "rows of the regression")
	cmd.Flags().IntVar(&f.cfg.ModelColumns, "glm-columns", 20, "columns of the regression beside the target, about 7 bytes each in the file")
	cmd.Flags().IntVar(&f.cfg.StateBytes, "state-bytes", 80_000_000, "bytes of a large state, and of each partial of its job")
	cmd.Flags().IntVar(&f.cfg.LargeRounds, "large-rounds", 10, "rounds with large states")
	cmd.Flags().StringVar(&f.dir, "dir", "", "folder for the files (default that for temporary files)")
	console.CompleteFolders(cmd, "dir")
}

// check returns an error if a flag is out of range.
func (f *roundsFlags) check() error {
	for _, job := range f.cfg.Jobs {
		if !slices.Contains(bench.RoundsJobs, job) {
			return console.Usagef("--jobs takes %s, got %q", strings.Join(bench.RoundsJobs, ", "), job)
		}
	}
	return cmp.Or(
		between("partitions", f.cfg.Partitions, 1, 1_000_000),
		between("empty-rounds", f.cfg.EmptyRounds, 2, 100),
		between("rows", f.cfg.Rows, 1, 1_000_000_000),
		between("columns", f.cfg.Columns, 1, 1000),
		between("k", f.cfg.K, 1, min(10_000, f.cfg.Rows)),
		between("rounds", f.cfg.Moves, 1, 99),
		between("glm-columns", f.cfg.ModelColumns, 1, 200),
		between("glm-rows", f.cfg.ModelRows, 100*f.cfg.ModelColumns, 1_000_000_000),
		between("state-bytes", f.cfg.StateBytes, 8, 800_000_000),
		between("large-rounds", f.cfg.LargeRounds, 2, 100),
		f.checkAlone(),
		f.benchmark.check(),
	)
}

// run measures clusters that have their files in a folder.
func (f *roundsFlags) run(ctx context.Context, a *console.App, folder string, tell tell) (bench.RoundsReport, error) {
	cfg := f.cfg
	cfg.Dir, cfg.Progress = folder, tell
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

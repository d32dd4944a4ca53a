package bench

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/bench"
	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/glm"
	"github.com/bellwether-compute/bellwether/jobs/kmeans"
	"github.com/bellwether-compute/bellwether/jobs/primes"
	"github.com/bellwether-compute/bellwether/jobs/probe"
	"github.com/bellwether-compute/bellwether/jobs/scan"
)

// workerCommand returns a command like "worker" that runs the benchmarks' jobs instead of the
// program's jobs. If its first flag is --traces, the second argument is the folder in which executions
// are recorded.
func workerCommand(a *console.App) *cobra.Command {
	return &cobra.Command{
		Use:                "worker [--traces FOLDER] [FLAG...]",
		Hidden:             true,
		DisableFlagParsing: true, // all other flags are those of the command worker
		RunE: func(cmd *cobra.Command, args []string) error {
			traces := ""
			if len(args) > 1 && args[0] == "--traces" {
				traces, args = args[1], args[2:]
			}
			args = slices.Concat([]string{"worker", "--allow", probe.Definition.Name}, args)
			if status := cli.Run(cmd.Context(), args, a.Streams, workerJobs(traces)...); status != console.StatusOK {
				return console.Status(status)
			}
			return nil
		},
	}
}

// workerJobs are the jobs that benchmarks submit.
func workerJobs(traces string) []jobs.Job {
	load := primes.Definition
	if traces != "" {
		load = bench.Traced(load, traces)
	}
	return []jobs.Job{
		jobs.MustNew(load), jobs.MustNew(probe.Definition), jobs.MustNew(bench.Vectors), jobs.MustNew(scan.Definition),
		jobs.MustNewSharded(bench.VectorShards), jobs.MustNewRounds(bench.EmptyRounds), jobs.MustNewRounds(bench.LargeRounds),
		jobs.MustNewRounds(kmeans.Definition), jobs.MustNewRounds(glm.Definition),
	}
}

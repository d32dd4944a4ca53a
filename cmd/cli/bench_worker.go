package cli

import (
	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/bench"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/primes"
	"github.com/bellwether-compute/bellwether/jobs/probe"
	"github.com/bellwether-compute/bellwether/jobs/scan"
)

// benchWorkerCommand returns a command like "worker" that runs the benchmarks' jobs instead of the
// program's jobs.
func (a *app) benchWorkerCommand() *cobra.Command {
	cmd := a.workerCommand()
	cmd.Hidden = true
	traces := cmd.Flags().String("traces", "", "folder in which executions are recorded")
	work := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.jobs = benchJobs(*traces)
		if err := cmd.Flags().Set(allowFlagName, probe.Definition.Name); err != nil {
			return err
		}
		return work(cmd, args)
	}
	return cmd
}

// benchJobs are the jobs that benchmarks submit.
func benchJobs(traces string) []jobs.Job {
	load := primes.Definition
	if traces != "" {
		load = bench.Traced(load, traces)
	}
	return []jobs.Job{jobs.MustNew(load), jobs.MustNew(probe.Definition), jobs.MustNew(bench.Vectors), jobs.MustNew(scan.Definition)}
}

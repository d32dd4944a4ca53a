// Package console is what all commands share: their streams, the format of results, the cluster that the flags
// name, errors with an exit status, and completion.
package console

import (
	"io"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/spf13/cobra"
)

// Streams are the standard streams of a command.
type Streams struct {
	In  io.Reader
	Out io.Writer // writer for results
	Err io.Writer // writer for progress, notes, errors and logs
}

// OnCluster is the group of the commands that need a cluster.
const OnCluster = "cluster"

// App is the state that all commands share.
type App struct {
	Streams
	Name string     // name of the program
	Jobs []jobs.Job // jobs of the program, sorted by name

	Sources []source.Source // sources of the objects that jobs read; nil means those of package dataset

	Output  OutputFormat
	Timeout time.Duration // how long to wait for each answer of the cluster
	Target  TargetFlags
}

// Job returns the program's job with the given name.
func (a *App) Job(name string) (jobs.Job, error) {
	names := make([]string, len(a.Jobs))
	for i, job := range a.Jobs {
		if job.Name() == name {
			return job, nil
		}
		names[i] = job.Name()
	}
	if near := didYouMean(name, "", names); near != "" {
		return jobs.Job{}, Usagef("unknown job %q%s This program knows: %s", name, near, strings.Join(names, ", "))
	}
	return jobs.Job{}, Usagef("unknown job %q, this program knows: %s", name, strings.Join(names, ", "))
}

// CompleteJob completes the first argument of a command with names of jobs.
func (a *App) CompleteJob(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []cobra.Completion
	if len(args) == 0 {
		for _, job := range a.Jobs {
			names = append(names, cobra.CompletionWithDesc(job.Name(), job.Summary()))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

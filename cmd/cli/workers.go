package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

func (a *app) workersCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "workers",
		Short: "List the cluster's workers, and how many of them run each kind of job",
		Long: `List the cluster's workers, and how many of them run each kind of job. HELD is the
size of the large partials that a worker holds, in memory and in its spill folder.`,
		Args: cobra.NoArgs,
		RunE: a.OnCluster(func(ctx context.Context, c *client.Client) error {
			answer, err := c.Workers(ctx)
			if err != nil {
				return err
			}
			workers := append([]client.Worker{}, answer.Workers...) // JSON prints an empty list as [], but nil as null
			a.warnOfBuilds(workers)
			return a.Show(workers, func(w io.Writer) { workersTable(w, answer) })
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

func workersTable(w io.Writer, answer client.Workers) {
	alike := runAlike(answer.Workers)
	row := func(k client.Worker, cells ...any) { // the program of a worker is shown if it differs from that of the others
		if !alike {
			cells = append(cells, k.Build, k.Version)
		}
		console.Row(w, cells...)
	}
	row(client.Worker{Build: "BUILD", Version: "VERSION"}, "ID", "HOST", "PID", "SLOTS", "LOST", "LEADER", "STATE", "HELD", "UP")
	for _, k := range answer.Workers {
		leads := ""
		if k.Leader {
			leads = "leads"
		}
		state, _, _ := strings.Cut(k.State, ": ") // the reason of a state has its own line
		row(k, k.ID, k.Host, k.PID, k.Slots, k.Lost, leads, state, human.Size(k.Usage.NodeBytes), human.Age(time.Since(k.Since)))
	}
	if alike && len(answer.Workers) > 0 {
		console.Row(w, fmt.Sprintf("build %s, version %s", answer.Workers[0].Build, answer.Workers[0].Version))
	}
	for _, k := range answer.Workers {
		if state, reason, found := strings.Cut(k.State, ": "); found {
			console.Row(w, fmt.Sprintf("%s is %s %s", k.ID, state, human.FirstLine(reason)))
		}
	}
	if answer.More > 0 {
		console.Row(w, fmt.Sprintf("and %d more", answer.More))
	}
	if len(answer.Kinds) > 0 {
		console.Row(w)
		console.Row(w, "JOB", "VERSION", "WORKERS")
	}
	for _, k := range answer.Kinds {
		console.Row(w, k.Name, k.Version, k.Workers)
	}
}

// runAlike reports whether all workers have the same build and version.
func runAlike(workers []client.Worker) bool {
	return !slices.ContainsFunc(workers, func(k client.Worker) bool {
		return k.Build != workers[0].Build || k.Version != workers[0].Version
	})
}

// warnOfBuilds prints the number of workers of each build if the workers have different builds.
func (a *app) warnOfBuilds(workers []client.Worker) {
	count := map[string]int{}
	for _, k := range workers {
		count[k.Build]++
	}
	if len(count) < 2 {
		return
	}
	var parts []string
	for _, b := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%d of %s", count[b], b))
	}
	a.Note("warning: workers of different builds may round floats differently: %s", strings.Join(parts, ", "))
}

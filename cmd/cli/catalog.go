package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs"
)

// jobKind is the JSON that the command catalog prints for a job.
type jobKind struct {
	Name       string           `json:"name"`
	Version    string           `json:"version"`
	Summary    string           `json:"summary"`
	Restricted bool             `json:"restricted,omitempty"` // workers run the job only if the flag --allow names it
	Parameters []jobs.Parameter `json:"parameters"`
}

func describe(job jobs.Job) jobKind {
	parameters := job.Parameters()
	if parameters == nil {
		parameters = []jobs.Parameter{}
	}
	return jobKind{job.Name(), job.Version(), job.Summary(), job.Restricted(), parameters}
}

// restriction returns the end of a job's summary: a note if the job is restricted, otherwise "".
func (k jobKind) restriction() string {
	if !k.Restricted {
		return ""
	}
	return fmt.Sprintf(" (restricted: workers need --%s %s)", allowFlagName, k.Name)
}

func (a *app) catalogCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "catalog [JOB]",
		Short: "Show the jobs of this program, or the parameters of one",
		Args:  console.WantArgs(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				job, err := a.Job(args[0])
				if err != nil {
					return err
				}
				return a.showKind(job)
			}
			return a.showKinds()
		},
		ValidArgsFunction: a.CompleteJob,
	}
}

func (a *app) showKinds() error {
	kinds := []jobKind{}
	for _, job := range a.Jobs {
		kinds = append(kinds, describe(job))
	}
	return a.Show(kinds, func(w io.Writer) {
		console.Row(w, "JOB", "VERSION", "SUMMARY")
		for _, k := range kinds {
			console.Row(w, k.Name, k.Version, k.Summary+k.restriction())
		}
		if a.Sources == nil {
			return
		}
		fmt.Fprintln(w)
		console.Row(w, "SOURCE", "OBJECTS")
		for _, s := range a.Sources {
			console.Row(w, strings.Join(s.Names(), ", "), s.Help)
		}
	})
}

func (a *app) showKind(job jobs.Job) error {
	kind := describe(job)
	return a.Show(kind, func(w io.Writer) {
		fmt.Fprintf(w, "%s %s: %s%s\n", kind.Name, kind.Version, kind.Summary, kind.restriction())
		if len(kind.Parameters) == 0 {
			return
		}
		fmt.Fprintln(w)
		console.Row(w, "PARAMETER", "TYPE", "DEFAULT", "TAKES", "HELP")
		for _, p := range kind.Parameters {
			value := p.Default
			if value == "" {
				value = `""`
			}
			console.Row(w, p.Name, p.Type, value, p.Takes, p.Help)
		}
	})
}

package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs"
)

const (
	allowFlagName = "allow"
	envAllow      = "BELLWETHER_ALLOW"
)

// allowFlag is the value of --allow: the restricted jobs that a worker runs.
type allowFlag struct{ names []string }

func (f *allowFlag) register(a *app, cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.names, allowFlagName, nil, "names of restricted jobs to run, separated by commas (env "+envAllow+")")
	console.CompleteWords(cmd, allowFlagName, restricted(a.Jobs)...)
}

// setDefault allows the job name, if the program has this job, unless the command line or the
// environment names the restricted jobs to run.
func (f *allowFlag) setDefault(a *app, cmd *cobra.Command, name string) {
	if !cmd.Flags().Changed(allowFlagName) && os.Getenv(envAllow) == "" && slices.Contains(restricted(a.Jobs), name) {
		f.names = []string{name}
	}
}

// args returns the flag --allow with its value as arguments for a worker process.
func (f allowFlag) args() []string {
	if len(f.names) == 0 {
		return nil
	}
	return []string{"--" + allowFlagName, strings.Join(f.names, ",")}
}

// filter removes the restricted jobs that neither the flag --allow nor the environment variable
// names.
func (f allowFlag) filter(known []jobs.Job) ([]jobs.Job, error) {
	source, names := "--"+allowFlagName, f.names
	if len(names) == 0 && os.Getenv(envAllow) != "" {
		source, names = envAllow, strings.Split(os.Getenv(envAllow), ",")
	}
	have := restricted(known)
	for _, name := range names {
		if !slices.Contains(have, name) {
			return nil, console.Usagef("%s %q: want restricted jobs of this program, which has %s", source, name, list(have))
		}
	}
	return slices.DeleteFunc(slices.Clone(known), func(j jobs.Job) bool {
		return j.Restricted() && !slices.Contains(names, j.Name())
	}), nil
}

// restricted returns the names of the restricted jobs, sorted.
func restricted(known []jobs.Job) (names []string) {
	for _, j := range known {
		if j.Restricted() {
			names = append(names, j.Name())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

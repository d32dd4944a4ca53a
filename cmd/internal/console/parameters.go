package console

import (
	"cmp"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/jobs"
)

// maxParamsFile is the maximum size in bytes of a file for --params.
const maxParamsFile = 1 << 20

// ParamFlags are the flags that set a job's parameters.
type ParamFlags struct {
	// Limit is the maximum size in bytes that the command allows for parameters as JSON; 0 means the
	// maximum size of a file for --params. Errors for a file that is too large name this limit.
	Limit int

	pairs []string
	file  string
}

// Register adds the flags to a command.
func (p *ParamFlags) Register(a *App, cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&p.pairs, "param", "p", nil, "a parameter as name=value; may be repeated")
	cmd.Flags().StringVar(&p.file, "params", "", "file with parameters as one JSON object, or - for standard input; -p overrides it")
	CompleteFiles(cmd, "params")
	CompleteFlag(cmd, "param", a.CompleteParam)
}

// ChangedParams returns the parameters of an earlier job with the changes that pairs in the form NAME=VALUE make.
func ChangedParams(job jobs.Job, old jobs.Params, pairs []string) (jobs.Params, error) {
	if err := checkNames(job, pairs); err != nil {
		return nil, Usage(err)
	}
	params, err := job.Params(old, pairs...)
	return params, Usage(err)
}

// Read returns the parameters in the form in which they are stored. The parameter more contains
// further parameters in the form NAME=VALUE.
func (p *ParamFlags) Read(a *App, job jobs.Job, more ...string) (jobs.Params, error) {
	if err := checkNames(job, p.pairs); err != nil {
		return nil, Usage(err)
	}
	base, err := p.readFile(a)
	if err != nil {
		return nil, Usagef("read parameters: %w", err)
	}
	if len(base) > maxParamsFile {
		return nil, Usagef("read parameters: %s is too large: want parameters of at most %d bytes as JSON", p.file, cmp.Or(p.Limit, maxParamsFile))
	}
	if p.file != "" && len(base) == 0 {
		return nil, Usagef("read parameters: %s is empty, want one JSON object", p.file)
	}
	params, err := job.Params(base, slices.Concat(p.pairs, more)...)
	return params, Usage(err)
}

func (p *ParamFlags) readFile(a *App) ([]byte, error) {
	if p.file == "" {
		return nil, nil
	}
	var from io.Reader
	if p.file == StandardInput {
		from = a.TakeInput("--params")
	} else {
		f, err := os.Open(p.file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		from = f
	}
	return io.ReadAll(io.LimitReader(from, maxParamsFile+1))
}

// CompleteParam completes names of parameters of the job that the command's first argument names, and
// schemes of objects in the parameters input and output.
func (a *App) CompleteParam(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	if len(args) == 0 {
		return nil, directive
	}
	job, err := a.Job(args[0])
	if err != nil {
		return nil, directive
	}
	var names []cobra.Completion
	if name, _, isValue := strings.Cut(typed, "="); isValue && (name == "input" || name == "output") {
		for _, s := range a.Sources {
			for _, scheme := range s.Schemes {
				names = append(names, cobra.CompletionWithDesc(name+"="+scheme, s.Help))
			}
		}
		return names, directive
	}
	for _, p := range job.Parameters() {
		names = append(names, cobra.CompletionWithDesc(p.Name+"=", p.Help))
	}
	return names, directive
}

package console

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bellwether-compute/bellwether/jobs"
)

// didYouMean returns a question that names the words that a misspelt word may mean, each after the
// prefix, or an empty text.
func didYouMean(word, prefix string, words []string) string {
	guess := cobra.Command{SuggestionsMinimumDistance: 2}
	for _, w := range words {
		guess.AddCommand(&cobra.Command{Use: w, Run: func(*cobra.Command, []string) {}})
	}
	near := guess.SuggestionsFor(word)
	if len(near) == 0 {
		return ""
	}
	return ": did you mean " + prefix + strings.Join(near, " or "+prefix) + "?"
}

// checkNames returns an error for the first name=value pair that names no parameter of the job.
func checkNames(job jobs.Job, pairs []string) error {
	names := parameterNames(job)
	for _, pair := range pairs {
		name, _, _ := strings.Cut(pair, "=")
		if near := didYouMean(name, "", names); near != "" && !slices.Contains(names, name) {
			return fmt.Errorf("job %s: unknown parameter %q%s The parameters are %s", job.Name(), name, near, strings.Join(names, ", "))
		}
	}
	return nil
}

func parameterNames(job jobs.Job) (names []string) {
	for _, p := range job.Parameters() {
		names = append(names, p.Name)
	}
	return names
}

// WantJob checks the arguments of a command whose first argument is the name of a job. After the
// name, "--" and the command line of the program that the job runs may follow.
func WantJob(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		args = args[:dash]
	}
	for _, arg := range args {
		if name, _, isPair := strings.Cut(arg, "="); isPair && name != "" {
			return fmt.Errorf("%q: parameters come after -p, as in -p %s", arg, arg)
		}
	}
	return WantArgs(1, 1)(cmd, args)
}

// ExplainFlag returns a function that explains an error in the flags of a command line.
func (a *App) ExplainFlag(args []string) func(*cobra.Command, error) error {
	return func(cmd *cobra.Command, err error) error {
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
			return a.explainUnknown(cmd, args, unknown.GetSpecifiedName(), err)
		}
		if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			if want := wants(invalid.GetFlag().Value.Type(), invalid.GetValue(), err); want != "" {
				return fmt.Errorf("--%s %q: want %s", invalid.GetFlag().Name, invalid.GetValue(), want)
			}
		}
		return err
	}
}

// wants returns the values that a flag of a type takes, if the error is one of package strconv or time.
func wants(kind, value string, err error) string {
	if kind == "duration" {
		if _, err := time.ParseDuration(value); err != nil {
			return "a duration with a unit, such as 30s, 5m or 1h30m"
		}
	}
	if _, isNumber := errors.AsType[*strconv.NumError](err); !isNumber {
		return ""
	}
	switch {
	case kind == "bool":
		return "true or false"
	case strings.HasPrefix(kind, "float"):
		return "a number, such as 0.12"
	case strings.HasPrefix(kind, "uint"):
		return "a whole number of at least 0, such as 20 or 10k"
	}
	return "a whole number, such as 20 or 10k"
}

// setBy says how parameters are set that other parts of the command line set.
var setBy = map[string]string{
	"files":   "--send FILE, which may be repeated",
	"command": "the program and its arguments after --, as in -- PROGRAM ARGUMENT",
}

// explainUnknown returns an error for a flag that does not exist. The flag may be a parameter of
// the job that the command line names.
func (a *App) explainUnknown(cmd *cobra.Command, args []string, name string, err error) error {
	if cmd.Flag("param") != nil {
		for _, job := range a.Jobs {
			if !slices.Contains(args, job.Name()) || !slices.Contains(parameterNames(job), name) {
				continue
			}
			if by, ok := setBy[name]; ok {
				return fmt.Errorf("--%s: the parameter %[1]s of job %s is set by %s", name, job.Name(), by)
			}
			return fmt.Errorf("--%s: %[1]s is a parameter of job %s, so it comes after -p, as in -p %[1]s=VALUE", name, job.Name())
		}
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return fmt.Errorf("%w%s", err, didYouMean(name, "--", names))
}

// ReadNumbers lets all flags of a command and its subcommands that take a number also take one such as 1e6 or 10M.
func ReadNumbers(cmd *cobra.Command) {
	read := func(f *pflag.Flag) {
		if kind := f.Value.Type(); strings.HasPrefix(kind, "int") || strings.HasPrefix(kind, "uint") {
			f.Value = number{f.Value}
		}
	}
	cmd.Flags().VisitAll(read) // LocalFlags would first merge the flags of all commands above
	cmd.PersistentFlags().VisitAll(read)
	for _, c := range cmd.Commands() {
		ReadNumbers(c)
	}
}

type number struct{ pflag.Value }

func (v number) Set(text string) error {
	if n, err := jobs.ParseSize(text); err == nil {
		text = strconv.FormatUint(n, 10)
	}
	return v.Value.Set(text)
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
)

// Main runs the command line of this process with the known jobs, and exits. If several jobs have
// the same name, with different versions, the commands submit and run use the first of them, and
// workers run all of them.
func Main(known ...jobs.Job) {
	streams := Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	os.Exit(run(context.Background(), filepath.Base(os.Args[0]), os.Args[1:], streams, known))
}

// Streams are the standard streams of a command.
type Streams struct {
	In  io.Reader
	Out io.Writer // writer for results
	Err io.Writer // writer for progress, notes, errors and logs
}

// Run runs one command line and returns the program's exit status. A long-running command ends when
// ctx is done or at an interrupt.
func Run(ctx context.Context, args []string, streams Streams, known ...jobs.Job) int {
	return run(ctx, defaultName, args, streams, known)
}

// defaultName is the program's name in texts that [Run] prints.
const defaultName = "bellwether"

// run is like [Run], for a program with the given name, which appears in help, hints and completion
// scripts.
func run(ctx context.Context, name string, args []string, streams Streams, known []jobs.Job) int {
	a := &app{Streams: streams, jobs: slices.Clone(known), name: name}
	slices.SortStableFunc(a.jobs, func(x, y jobs.Job) int { return strings.Compare(x.Name(), y.Name()) })
	root := a.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return statusOK
	}
	if status, ok := errors.AsType[commandStatus](err); ok {
		return int(status)
	}
	if !a.started { // cobra has rejected the command line
		err = usage(err)
	}
	err = a.explain(err)
	a.note("%v", err)
	status := statusOf(err)
	if status == statusUsage {
		fmt.Fprintf(a.Err, "See '%s --help'.\n", cmd.CommandPath())
	}
	return status
}

// app is the state that all commands share.
type app struct {
	Streams
	name    string     // name of the program
	jobs    []jobs.Job // jobs of the program, sorted by name
	started bool       // cobra has accepted the command line

	output  outputFormat
	timeout time.Duration
	target  targetFlags
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   a.name,
		Short: "Run one big computation on many workers, with the same result whatever fails",
		Long: `Bellwether runs one big computation on many identical worker processes, which
elect a leader among themselves. Any process may die at any moment; the result is
the same bytes every time.

A job in this process:        run JOB
A cluster on this machine:    dev --workers 4
A job on a cluster:           submit JOB --wait`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.started = true
			if a.output == outputCSV && !slices.Contains([]string{"run", "submit", "watch", "result"}, cmd.Name()) {
				return errNoCSV
			}
			return nil
		},
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)

	flags := root.PersistentFlags()
	flags.VarP(&a.output, "output", "o", "format of results: table, json, or csv for a result that is a table")
	flags.DurationVar(&a.timeout, "reply-timeout", 5*time.Second, "how long to wait for answers of the cluster")
	a.target.register(flags)
	completeFiles(root, "azure-connection-file", "creds", "nkey", "tlscert", "tlskey", "tlsca")
	completeWords(root, "output", "table", "json", "csv")
	completeWords(root, "storage", string(cluster.JetStream), string(cluster.Azure))

	const here, onCluster, local = "here", "cluster", "local"
	root.AddGroup(
		&cobra.Group{ID: here, Title: "In this process:"},
		&cobra.Group{ID: onCluster, Title: "On a cluster:"},
		&cobra.Group{ID: local, Title: "Running a cluster:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(here, a.runCommand(), a.catalogCommand(), a.versionCommand())
	add(onCluster, a.submitCommand(), a.listCommand(), a.statusCommand(), a.watchCommand(), a.resultCommand(), a.outputCommand(),
		a.cancelCommand(), a.removeCommand(), a.requeueCommand(), a.workersCommand(), a.leaderCommand(), a.historyCommand(), a.uiCommand())
	add(local, a.devCommand(), a.workerCommand(), a.healthCommand(), a.electCommand(), a.benchCommand(), a.electWatchdogCommand(), a.execGuardCommand(), a.wasmHostCommand())
	if _, err := a.job(demoJob); err == nil {
		add(local, a.demoCommand())
	}
	return root
}

// completeWords makes the shell complete a flag's value from a list of words.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	completeFlag(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// completeFiles makes the shell complete the values of flags with file names.
func completeFiles(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		completeFlag(cmd, flag, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault))
	}
}

// completeFolders makes the shell complete a flag's value with folder names.
func completeFolders(cmd *cobra.Command, flag string) {
	completeFlag(cmd, flag, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
}

func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // an error means that the flag is not registered, or already has a completion function
	}
}

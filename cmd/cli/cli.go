package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// Program is a command line: jobs, and large parts that only programs contain whose main
// function names them.
type Program struct {
	// Jobs are the jobs that the program knows. If several jobs have the same name, with different
	// versions, the commands submit and run use the first of them, and workers run all of them.
	Jobs []jobs.Job

	// Sources are the sources of the objects that jobs read. Nil means dataset.Sources(), to which a
	// program that adds a source appends the source.
	Sources []source.Source

	// Commands are further commands, such as that of package wasmhost.
	Commands []Command
}

// Command returns a command of a program.
type Command func(a *console.App) *cobra.Command

// Main runs the command line of this process with the known jobs, and exits.
func Main(known ...jobs.Job) { Program{Jobs: known}.Main() }

// Main runs the command line of this process and exits.
func (p Program) Main() {
	streams := Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	os.Exit(p.run(context.Background(), filepath.Base(os.Args[0]), os.Args[1:], streams))
}

// Streams are the standard streams of a command.
type Streams = console.Streams

// Run runs one command line of a program with the known jobs; see [Program.Run].
func Run(ctx context.Context, args []string, streams Streams, known ...jobs.Job) int {
	return Program{Jobs: known}.Run(ctx, args, streams)
}

// Run runs one command line and returns the program's exit status. A long-running command ends when
// ctx is done or at an interrupt.
func (p Program) Run(ctx context.Context, args []string, streams Streams) int {
	return p.run(ctx, defaultName, args, streams)
}

// defaultName is the program's name in texts that [Program.Run] prints.
const defaultName = "bellwether"

// run runs a command line of a program with the given name, which appears in help, hints and
// completion scripts.
func (p Program) run(ctx context.Context, name string, args []string, streams Streams) int {
	a := &app{App: &console.App{Streams: streams, Jobs: slices.Clone(p.Jobs), Sources: p.Sources, Name: name}, commands: p.Commands}
	slices.SortStableFunc(a.Jobs, func(x, y jobs.Job) int { return strings.Compare(x.Name(), y.Name()) })
	root := a.root()
	root.SetArgs(args)
	root.SetFlagErrorFunc(a.ExplainFlag(args))
	console.ReadNumbers(root)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return console.StatusOK
	}
	if status, ok := errors.AsType[console.Status](err); ok {
		return int(status)
	}
	if !a.started { // cobra has rejected the command line
		err = console.Usage(err)
	}
	err = a.Explain(console.NameFlag(cmd, err))
	a.Note("%v", err)
	status := console.StatusOf(err)
	if status == console.StatusUsage {
		fmt.Fprintf(a.Err, "See '%s --help'.\n", cmd.CommandPath())
	}
	return status
}

// app is a program while it runs one command line.
type app struct {
	*console.App
	commands []Command // further commands
	started  bool      // cobra has accepted the command line
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   a.Name,
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
			if cmd.HasParent() && cmd.Parent().Name() == "context" {
				return nil
			}
			return a.Target.UseContext(isOnCluster(cmd))
		},
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)

	flags := root.PersistentFlags()
	flags.VarP(&a.Output, "output", "o", "format of the output: table; json; or csv, with the members of the JSON or the columns of a result")
	flags.DurationVar(&a.Timeout, "reply-timeout", 5*time.Second, "how long to wait for answers of the cluster")
	a.Target.Register(flags)
	console.CompleteFiles(root, "azure-connection-file", "creds", "nkey", "tlscert", "tlskey", "tlsca")
	console.CompleteWords(root, "output", "table", "json", "csv")
	console.CompleteWords(root, "storage", string(cluster.JetStream), string(cluster.Azure))

	a.hideConnection(root)
	console.CompleteFlag(root, "context", completeContext)

	const here, local = "here", "local"
	root.AddGroup(
		&cobra.Group{ID: here, Title: "In this process:"},
		&cobra.Group{ID: console.OnCluster, Title: "On a cluster:"},
		&cobra.Group{ID: local, Title: "Running a cluster:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(here, a.runCommand(), a.catalogCommand(), a.versionCommand())
	add(console.OnCluster, a.submitCommand(), a.listCommand(), a.statusCommand(), a.describeCommand(), a.eventsCommand(), a.logsCommand(), a.watchCommand(), a.waitCommand(), a.resultCommand(),
		a.cancelCommand(), a.retryCommand(), a.resubmitCommand(), a.verifyCommand(), a.removeCommand(), a.requeueCommand(), a.workersCommand(), a.leaderCommand(), a.historyCommand(), a.uiCommand(), a.keptCommand(), a.contextCommand())
	root.AddCommand(a.connectionTopic())
	add(local, a.devCommand(), a.workerCommand(), a.healthCommand(), a.electCommand(), a.electWatchdogCommand())
	for _, command := range a.commands {
		c := command(a.App)
		add(cmp.Or(c.GroupID, local), c)
	}
	return root
}

// isOnCluster reports whether a command uses a cluster that runs already.
func isOnCluster(cmd *cobra.Command) bool {
	for ; cmd != nil; cmd = cmd.Parent() {
		if cmd.GroupID == console.OnCluster {
			return true
		}
	}
	return false
}

package cli

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
)

func (a *app) contextCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "context",
		Short: "Name clusters and the connections to them",
		Long: `Name clusters and the connections to them. A context is a set of connection flags (see
'help connection') under a name. With --context NAME, a command uses it. After 'context use
NAME', commands on a cluster use it also without the flag, unless environment variables
name a cluster or a connection. Commands that run workers do not.

A context is used without the environment variables of the cluster and of NATS, and flags
override it: a flag for NATS overrides all of the context's flags for NATS.

Contexts are in contexts.json in the folder bellwether of the user's configuration.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.contextAddCommand(), a.contextUseCommand(), a.contextListCommand(), a.contextRemoveCommand())
	return cmd
}

var contextForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$`)

func (a *app) contextAddCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "add NAME",
		Short: "Add a context with the given connection flags, or replace it",
		Long: `Add a context with the given connection flags, or replace it. Names of files are made
absolute. Nothing is connected to. A password is stored as it is, in a file that only you
can read: prefer --creds.`,
		Example: "  " + a.Name + " context add prod --nats nats://nats.example.com --creds prod.creds --cluster prod",
		Args:    console.WantArgs(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if !contextForm.MatchString(args[0]) {
				return console.Usagef("context %q: want a name of up to 50 letters, digits, dots, dashes and underscores", args[0])
			}
			values, err := a.Target.ContextOf()
			if err != nil {
				return err
			}
			if len(values) == 0 {
				return console.Usagef("context %q would be empty: give connection flags, see '%s help connection'", args[0], a.Name)
			}
			if _, err := a.Target.Config(); err != nil {
				return err
			}
			return changeContexts(func(c *console.Contexts) error {
				c.Named[args[0]] = values
				return nil
			})
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

func (a *app) contextUseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "use [NAME]",
		Short: "Let commands on a cluster use a context; without a name, none",
		Args:  console.WantArgs(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			return changeContexts(func(c *console.Contexts) error {
				if len(args) == 0 {
					c.Current = ""
					return nil
				}
				_, err := c.Get(args[0])
				c.Current = args[0]
				return err
			})
		},
		ValidArgsFunction: completeContext,
	}
}

func (a *app) contextRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Aliases: []string{"rm"},
		Short:   "Remove a context",
		Args:    console.WantArgs(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			return changeContexts(func(c *console.Contexts) error {
				if _, err := c.Get(args[0]); err != nil {
					return err
				}
				delete(c.Named, args[0])
				if c.Current == args[0] {
					c.Current = ""
				}
				return nil
			})
		},
		ValidArgsFunction: completeContext,
	}
}

// namedContext is the JSON that the command context list prints for a context, without passwords and tokens.
type namedContext struct {
	Name    string            `json:"name"`
	Current bool              `json:"current"`
	Flags   map[string]string `json:"flags"`
}

func (a *app) contextListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the contexts",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			contexts, err := console.ReadContexts()
			if err != nil {
				return err
			}
			list := []namedContext{}
			for _, name := range slices.Sorted(maps.Keys(contexts.Named)) {
				flags := maps.Clone(contexts.Named[name])
				for _, secret := range []string{"user", "password"} { // the user may be a token
					if flags[secret] != "" {
						flags[secret] = "***"
					}
				}
				if urls, ok := flags["nats"]; ok {
					flags["nats"] = cluster.RedactURLs(urls)
				}
				list = append(list, namedContext{name, name == contexts.Current, flags})
			}
			return a.Show(list, func(w io.Writer) {
				console.Row(w, "NAME", "CURRENT", "FLAGS")
				for _, c := range list {
					current, flags := "", ""
					if c.Current {
						current = "current"
					}
					for _, flag := range slices.Sorted(maps.Keys(c.Flags)) {
						flags += fmt.Sprintf("--%s %s ", flag, c.Flags[flag])
					}
					console.Row(w, c.Name, current, flags)
				}
			})
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

// changeContexts changes the contexts of the user.
func changeContexts(change func(*console.Contexts) error) error {
	contexts, err := console.ReadContexts()
	if err != nil {
		return err
	}
	if err := change(&contexts); err != nil {
		return err
	}
	return contexts.Write()
}

func completeContext(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	contexts, err := console.ReadContexts()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Sorted(maps.Keys(contexts.Named)), cobra.ShellCompDirectiveNoFileComp
}

// connectionTopic is the help for the flags that all commands on a cluster take.
func (a *app) connectionTopic() *cobra.Command {
	topic := &cobra.Command{
		Use:   "connection",
		Short: "The flags that name the cluster and configure the connection to it",
		Long: `These flags name the cluster and configure the connection to it. All commands take them.
A flag overrides a context, and a context the environment: see 'context'.`,
	}
	topic.SetHelpFunc(func(*cobra.Command, []string) {
		fmt.Fprintf(a.Out, "%s\n\n%s\n", topic.Long, a.Target.ConnectionHelp())
	})
	return topic
}

// hideConnection leaves the connection flags out of the help of all commands.
func (a *app) hideConnection(root *cobra.Command) {
	usage := root.UsageFunc()
	root.SetUsageFunc(func(c *cobra.Command) error {
		a.Target.HideConnection(true)
		defer a.Target.HideConnection(false)
		if err := usage(c); err != nil {
			return err
		}
		_, err := fmt.Fprintf(c.OutOrStderr(), "\nFlags for the connection to a cluster: '%s help connection'.\n", a.Name)
		return err
	})
}

package console

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// CompleteID completes the first argument of a command with IDs of jobs.
func (a *App) CompleteID(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.CompleteIDs(cmd, args, prefix)
}

// CompleteIDs completes all arguments of a command with IDs of jobs.
func (a *App) CompleteIDs(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp
	c, err := a.Connect(cmd.Context())
	if err != nil {
		return nil, directive
	}
	defer c.Close()
	ids, err := c.IDs(cmd.Context())
	if err != nil {
		return nil, directive
	}
	return slices.DeleteFunc(ids, func(id string) bool {
		return !strings.HasPrefix(id, prefix) || slices.Contains(args, id)
	}), directive
}

// CompletePoisoned completes the name of an entry of the poison list.
func (a *App) CompletePoisoned(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, directive
	}
	c, err := a.Connect(cmd.Context())
	if err != nil {
		return nil, directive
	}
	defer c.Close()
	list, err := c.Poisoned(cmd.Context())
	if err != nil {
		return nil, directive
	}
	var names []cobra.Completion
	for _, p := range list {
		if strings.HasPrefix(p.Name, prefix) {
			names = append(names, p.Name)
		}
	}
	return names, directive
}

package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// completeID completes the first argument of a command with IDs of jobs.
func (a *app) completeID(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeIDs(cmd, args, prefix)
}

// completeIDs completes all arguments of a command with IDs of jobs.
func (a *app) completeIDs(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
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

// completePoisoned completes the name of an entry of the poison list.
func (a *app) completePoisoned(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
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

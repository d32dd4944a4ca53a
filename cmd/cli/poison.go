package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// poison lists the submissions that were put aside.
func (a *app) poison(ctx context.Context, c *clusterConn) error {
	list, err := c.store.PoisonList(ctx)
	if err != nil {
		return c.explain(fmt.Errorf("list what was put aside: %w", err))
	}
	return a.show(list, func(w io.Writer) {
		row(w, "NAME", "DELIVERIES", "PUT ASIDE", "REASON")
		for _, p := range list {
			row(w, p.Name, p.Deliveries, clock(p.At), firstLine(p.Reason))
		}
	})
}

func (a *app) requeueCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "requeue NAME",
		Short: "Put a submission back that 'list --poison' shows",
		Long: fmt.Sprintf(`Put a submission back into the queue that 'list --poison' shows, and count its
deliveries anew. It was put aside because leaders died of it %d times before they
had begun it, or because it is no submission at all.`, store.MaxDeliveries),
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onStorage(func(ctx context.Context, c *clusterConn) error { return a.requeue(ctx, c, args[0]) })(cmd, args)
		},
		ValidArgsFunction: a.completePoison,
	}
}

func (a *app) requeue(ctx context.Context, c *clusterConn, name string) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	switch err := c.store.Requeue(ctx, name); {
	case errors.Is(err, store.ErrNotFound):
		return usagef("nothing called %s was put aside: '%s list --poison' shows what was", name, c.program)
	case err != nil:
		return c.explain(err)
	}
	answer := struct {
		Name string `json:"name"`
	}{name}
	return a.show(answer, func(w io.Writer) { row(w, name) })
}

// completePoison completes the name of something that was put aside.
func (a *app) completePoison(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, directive
	}
	c, err := a.openTarget(cmd.Context())
	if err != nil {
		return nil, directive
	}
	defer c.close()
	list, err := c.store.PoisonList(cmd.Context())
	if err != nil {
		return nil, directive
	}
	var names []cobra.Completion
	for _, p := range list {
		if strings.HasPrefix(p.Name, begun) {
			names = append(names, p.Name)
		}
	}
	return names, directive
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// listPoisoned prints the entries of the poison list.
func (a *app) listPoisoned(ctx context.Context, c *client.Client) error {
	list, err := c.Poisoned(ctx)
	if err != nil {
		return err
	}
	return a.Show(list, func(w io.Writer) {
		console.Row(w, "NAME", "DELIVERIES", "POISONED", "REASON")
		for _, p := range list {
			console.Row(w, p.Name, p.Deliveries, human.Time(p.At), human.FirstLine(p.Reason))
		}
	})
}

func (a *app) requeueCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "requeue NAME",
		Short: "Put a poisoned submission back into the queue",
		Long: fmt.Sprintf(`Put a submission that 'list --poison' shows back into the queue. Its deliveries
count from 1 again. A submission is poisoned if leaders received it %d times and none of
them began its job, or if it cannot be decoded.`, store.MaxDeliveries),
		Args: console.WantArgs(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.OnCluster(func(ctx context.Context, c *client.Client) error { return a.requeue(ctx, c, args[0]) })(cmd, args)
		},
		ValidArgsFunction: a.CompletePoisoned,
	}
}

func (a *app) requeue(ctx context.Context, c *client.Client, name string) error {
	err := c.Requeue(ctx, name)
	if errors.Is(err, client.ErrNotFound) {
		return console.Usagef("%w: '%s list --poison' shows it", err, a.Name)
	}
	if err != nil {
		return err
	}
	answer := struct {
		Name string `json:"name"`
	}{name}
	return a.Show(answer, func(w io.Writer) { console.Row(w, name) })
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/answer"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

func (a *app) resultCommand() *cobra.Command {
	var (
		save  string
		price priceFlag
	)
	cmd := &cobra.Command{
		Use:   "result ID",
		Short: "Show the result of a job that has ended",
		Long: `Show the result of a job that has ended. The exit status is 0 if it completed, 1
if it failed or was cancelled, 3 if it has not ended.

Some jobs attach bytes that are too large for the result, which then shows their name,
size and SHA-256. With --save, they are written to a file.`,
		Args: console.WantArgs(1, 1),
		RunE: a.OnJob(func(ctx context.Context, c *client.Client, id string) error {
			if err := price.check(); err != nil {
				return err
			}
			o, err := c.Outcome(ctx, id)
			if errors.Is(err, client.ErrNotEnded) {
				return console.Absentf("%w: '%s watch %s' waits for it", err, a.Name, id)
			}
			if err != nil {
				return err
			}
			if err := a.showOrSave(answer.NewOutcome(o).WithPrice(answer.Price(price)), save); err != nil || save == "" {
				return err
			}
			attachment, ok := o.Attachment()
			if !ok {
				return fmt.Errorf("the result of job %s has no attachment, so nothing was saved", o.ID)
			}
			ctx, stop := console.Interruptible(ctx)
			defer stop()
			return a.saveAttachment(save, attachment, func(w io.Writer) error { return c.WriteAttachment(ctx, o.ID, attachment, w) })
		}),
		ValidArgsFunction: a.CompleteID,
	}
	price.register(cmd)
	cmd.Flags().StringVar(&save, "save", "", saveHelp)
	return cmd
}

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

func (a *app) logsCommand() *cobra.Command {
	var (
		partition uint64
		follow    bool
	)
	cmd := &cobra.Command{
		Use:   "logs ID",
		Short: "Print what a job's code and programs have logged",
		Long: `Print what a job's code has logged and what its programs have written to standard error,
with worker, partition and attempt. A partition whose worker has died runs again, and both
attempts are here.

Logs are in storage within seconds, also those of workers that have died since, and stay
until the job is removed. About 128 KiB of the newest lines of each worker are kept. With
-o json, each line is a JSON object.`,
		Args: console.WantArgs(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			only := &partition
			if !cmd.Flags().Changed("partition") {
				only = nil
			}
			return a.OnJob(func(ctx context.Context, c *client.Client, id string) error { return a.logs(ctx, c, id, only, follow) })(cmd, args)
		},
		ValidArgsFunction: a.CompleteID,
	}
	cmd.Flags().Uint64Var(&partition, "partition", 0, "print only the lines of this partition")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print new lines until the job has ended")
	return cmd
}

// followEvery is the time between two reads of the logs of a job that is followed.
const followEvery = time.Second

// logs prints the logs of a job, of all partitions if partition is nil.
func (a *app) logs(ctx context.Context, c *client.Client, id string, partition *uint64, follow bool) error {
	ctx, stop := console.Interruptible(ctx)
	defer stop()
	print, flush, err := a.logPrinter()
	if err != nil {
		return err
	}
	reader := c.Logs(id)
	printed, quiet := 0, 0
	for quiet < 2 { // workers write their last lines when they learn of the end
		s, err := c.Status(ctx, id)
		if err != nil {
			return followed(ctx, err)
		}
		lines, err := reader.Next(ctx)
		if err != nil {
			return followed(ctx, err)
		}
		for _, l := range lines {
			if partition != nil && (l.Partition == nil || *l.Partition != *partition) {
				continue
			}
			printed++
			if err := print(l); err != nil {
				return err
			}
		}
		if err := flush(); err != nil {
			return err
		}
		if !follow {
			break
		}
		if quiet++; len(lines) > 0 || !s.State.Final() {
			quiet = 0
		}
		select {
		case <-time.After(followEvery):
		case <-ctx.Done():
			return nil
		}
	}
	a.noteLost(reader)
	if printed == 0 {
		a.Note("there are no logs")
	}
	return nil
}

// followed returns nil if the user has stopped to follow.
func followed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// logPrinter returns the function that prints a line in the format of the output.
func (a *app) logPrinter() (print func(client.JournalLine) error, flush func() error, err error) {
	flush = func() error { return nil }
	switch a.Output {
	case console.OutputCSV:
		out, err := console.NewItemsCSV(a.Out, reflect.TypeFor[client.JournalLine]())
		return func(l client.JournalLine) error { return out.Add(l) }, out.Flush, err
	case console.OutputJSON:
		enc := json.NewEncoder(a.Out)
		enc.SetEscapeHTML(false)
		return func(l client.JournalLine) error { return enc.Encode(l) }, flush, nil
	}
	return func(l client.JournalLine) error {
		if _, err := fmt.Fprintln(a.Out, human.Plain(logLine(l))); err != nil {
			return fmt.Errorf("print: %w", err)
		}
		return nil
	}, flush, nil
}

// logLine returns a line of a log for people.
func logLine(l client.JournalLine) string {
	where := "worker " + l.Worker
	if l.Partition != nil {
		where += fmt.Sprintf(", partition %d", *l.Partition)
	}
	if l.Attempt > 1 {
		where += fmt.Sprintf(", attempt %d", l.Attempt)
	}
	return fmt.Sprintf("%s %s: %s", human.Time(l.At), where, l.Text)
}

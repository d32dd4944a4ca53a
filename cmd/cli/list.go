package cli

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dustin/go-humanize"
)

func (a *app) listCommand() *cobra.Command {
	var poison bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the cluster's jobs, the newest last",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if poison {
				return a.onStorage(a.poison)(cmd, args)
			}
			return a.onStorage(a.list)(cmd, args)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().BoolVar(&poison, "poison", false, "list the submissions that were put aside instead, and why: 'requeue' puts them back")
	return cmd
}

func (a *app) list(ctx context.Context, c *clusterConn) error {
	live, err := c.live(ctx, "")
	if err != nil {
		return err
	}
	records, err := a.all(ctx, c)
	if err != nil {
		return err
	}
	list := []jobStatus{}
	unfinished := false
	for _, r := range records {
		s := newJobStatus(r, live)
		unfinished = unfinished || !s.State.Final()
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(x, y jobStatus) int { return x.Submitted.Compare(*y.Submitted) })
	if live == nil && unfinished {
		a.note("%v: this is what the last checkpoints say", errNoLeader)
	}
	return a.show(list, func(w io.Writer) {
		row(w, "ID", "JOB", "STATE", "DONE", "PARTITIONS", "SUBMITTED")
		for _, s := range list {
			done := "-"
			if s.Partitions > 0 && s.knowsDone() {
				done = fmt.Sprintf("%d%%", percent(s.Done, s.Partitions))
			}
			row(w, s.ID, s.Job, s.State, done, humanize.Comma(int64(s.Partitions)), clock(*s.Submitted))
		}
	})
}

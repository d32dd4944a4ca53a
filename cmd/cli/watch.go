package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) watchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch ID",
		Short: "Show a job's progress until it ends, then its result",
		Long: `Show a job's progress until it ends, then its result as 'result' does. Watching a
job does nothing to it: it may be interrupted at any time.`,
		Args:              takes(1, 1),
		RunE:              a.onJob(a.watch),
		ValidArgsFunction: a.completeID,
	}
}

// watch shows progress until the job has ended, then its outcome.
func (a *app) watch(ctx context.Context, c *clusterConn, id string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	p := newProgress(a.Err)
	r, err := c.awaitStatus(ctx, id, p, nil)
	p.clear()
	if err != nil {
		if ctx.Err() != nil {
			return absentf("stopped watching; job %s goes on: '%s watch %s' shows it again", id, c.program, id)
		}
		return err
	}
	o, err := c.outcome(ctx, r)
	if err != nil {
		return err
	}
	return a.showOutcome(o)
}

// soon and seldom bound the time between two looks: a short job is seen to end
// at once, a long one costs little.
const (
	soon   = 20 * time.Millisecond
	seldom = 250 * time.Millisecond
)

// awaitStatus shows progress until the job has ended or enough says so; a nil
// enough never does. A cluster that does not answer for longer than the time for
// answers is an error; that nobody leads is none.
func (c *clusterConn) awaitStatus(ctx context.Context, id string, p *progress, enough func(jobStatus) bool) (record, error) {
	answered := time.Now()
	for pause := soon; ; pause = min(2*pause, seldom) {
		s, r, err := c.status(ctx, id)
		switch {
		case err == nil && (r.manifest.State.Final() || enough != nil && enough(s)):
			return r, nil
		case err == nil:
			answered = time.Now()
			p.show(s.snapshot())
		case time.Since(answered) > c.timeout || !c.passing(err):
			return record{}, err
		}
		select {
		case <-ctx.Done():
			return record{}, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// passing reports whether an error may be over at the next look.
func (c *clusterConn) passing(err error) bool {
	return statusOf(c.explain(err)) == statusAbsent || !c.nc.IsConnected() || errors.Is(err, context.DeadlineExceeded)
}

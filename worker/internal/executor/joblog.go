package executor

import (
	"context"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// place is what a line of a job's code belongs to.
type place struct {
	function string           // function of the definition that is called for no partition; empty for Map
	progress *engine.Progress // record of the running partition; nil if fast partitions run without a record
	span     engine.Span      // partitions that run
	attempt  int              // number of the attempt at the partition; 0 if unknown
}

// withLog returns a context with which the code of a job logs to the journal. All rounds of a job have one journal.
func (c *core) withLog(ctx context.Context, job string, at place) context.Context {
	job = engine.JobOf(job)
	return jobs.WithLog(ctx, func(l jobs.LogLine) {
		line := store.JournalLine{At: l.At.UTC(), Source: store.FromCode, Worker: c.cfg.ID, Text: l.Text}
		if l.Stderr {
			line.Source = store.FromStderr
		}
		switch {
		case at.function != "":
			line.Text = at.function + ": " + l.Text
		case at.progress != nil:
			partition, _ := at.progress.At()
			line.Partition, line.Attempt = &partition, at.attempt
		case at.span.Len() == 1:
			line.Partition, line.Attempt = &at.span.Lo, at.attempt
		}
		c.cfg.Journal.Add(store.WorkerJournal(c.cfg.ID), job, line, false)
	})
}

// endLog says that the code of a job logs no more.
func (c *core) endLog(job string) { c.cfg.Journal.End(store.WorkerJournal(c.cfg.ID), job) }

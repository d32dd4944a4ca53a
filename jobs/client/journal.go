package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// JournalLine is an event of a job, or a line that the job's code or one of its programs has written.
type JournalLine = store.JournalLine

// Sources of journal lines.
const (
	FromLeader = store.FromLeader
	FromCode   = store.FromCode
	FromStderr = store.FromStderr
)

// EventKind is the kind of an event for programs that select events.
type EventKind = store.EventKind

// Kinds of events.
const (
	FailureEvent = store.FailureEvent
	DeathEvent   = store.DeathEvent
)

// JournalReader reads the events or the logs of a job from storage, where they are within seconds. A job keeps at
// most about 128 KiB of the newest lines of each worker, and as many events of each leader.
type JournalReader struct {
	client *Client
	id     string
	begin  string              // how the names of the writers begin
	read   map[string]position // what was read of each writer

	Dropped uint64 // number of lines so far that were dropped because there were too many
	Cut     bool   // earlier lines of a worker or leader are not kept
}

// position is a position in the pages of a writer.
type position struct {
	page, lines, dropped uint64
}

// Logs returns a reader of what the code and the programs of a job have logged.
func (c *Client) Logs(id string) *JournalReader { return c.journal(id, store.WorkerPrefix) }

// Events returns a reader of the events that leaders have recorded, such as failures and deaths of workers. Begin and
// end of the job are in its status.
func (c *Client) Events(id string) *JournalReader { return c.journal(id, store.LeaderPrefix) }

func (c *Client) journal(id, begin string) *JournalReader {
	return &JournalReader{client: c, id: id, begin: begin, read: map[string]position{}}
}

// Next returns the lines that were written since the last call, sorted by time.
func (r *JournalReader) Next(ctx context.Context) (lines []JournalLine, err error) {
	s, err := r.client.open(ctx)
	if err != nil {
		return nil, err
	}
	pages, err := s.Journal(ctx, r.id, func(k store.JournalKey) bool {
		return !strings.HasPrefix(k.Writer, r.begin) || k.Number < r.read[k.Writer].page
	})
	if err != nil {
		return nil, r.client.explain(fmt.Errorf("read the journal of job %s: %w", r.id, err))
	}
	for _, p := range pages {
		at, known := r.read[p.Writer]
		if p.Number > at.page {
			r.Cut = r.Cut || p.Number > at.page+1 || !known
			at = position{page: p.Number}
		}
		lines = append(lines, p.Lines[min(at.lines, uint64(len(p.Lines))):]...)
		r.Dropped += p.Dropped - min(p.Dropped, at.dropped)
		at.lines, at.dropped = uint64(len(p.Lines)), p.Dropped
		r.read[p.Writer] = at
	}
	slices.SortStableFunc(lines, func(a, b JournalLine) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Worker, b.Worker))
	})
	return lines, nil
}

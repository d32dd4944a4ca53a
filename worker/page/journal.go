package page

import (
	"context"
	"net/http"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/client"
)

// journalAnswer is the answer to /api/v1/jobs/{id}/events: what has happened to a job. The lists have their newest events
// first, and at most maxEvents of them.
type journalAnswer struct {
	Failures []eventAnswer `json:"failures"` // attempts that have failed
	Deaths   []eventAnswer `json:"deaths"`   // workers with work of the job that have died or were silent
	Events   []eventAnswer `json:"events"`   // all events, also the other two lists
	All      int           `json:"all"`      // number of all events that are kept
	Cut      bool          `json:"cut"`      // there were more events, which are not kept
}

// eventAnswer is an event of a job.
type eventAnswer struct {
	client.JournalLine
	Kind client.EventKind `json:"kind"` // failure or death; empty for other events
	Host string           `json:"host"` // host of the worker that died; empty for other events
}

const (
	maxEvents  = 50
	journalAge = 2 * time.Second // time for which the answer is cached
)

func (p *Page) getJournal(ctx context.Context, c *client.Client, r *http.Request) (any, error) {
	id, err := idOf(r)
	if err != nil {
		return nil, err
	}
	return p.journal(ctx, c, id)
}

func (p *Page) journal(ctx context.Context, c *client.Client, id string) (journalAnswer, error) {
	return p.journals.get(id, journalAge, func() (journalAnswer, error) {
		reader := c.Events(id)
		lines, err := reader.Next(ctx)
		return newJournalAnswer(lines, reader.Cut || reader.Dropped > 0), err
	})
}

// newJournalAnswer returns an answer for events that are sorted by time.
func newJournalAnswer(lines []client.JournalLine, cut bool) journalAnswer {
	a := journalAnswer{Failures: []eventAnswer{}, Deaths: []eventAnswer{}, Events: []eventAnswer{}, All: len(lines), Cut: cut}
	add := func(list *[]eventAnswer, line client.JournalLine) {
		if len(*list) < maxEvents {
			*list = append(*list, eventAnswer{line, line.Kind, line.Host})
		}
	}
	for i := len(lines) - 1; i >= 0; i-- {
		add(&a.Events, lines[i])
		switch lines[i].Kind {
		case client.FailureEvent:
			add(&a.Failures, lines[i])
		case client.DeathEvent:
			add(&a.Deaths, lines[i])
		}
	}
	return a
}

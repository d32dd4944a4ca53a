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
	Failures []client.JournalLine `json:"failures"` // attempts that have failed
	Deaths   []client.JournalLine `json:"deaths"`   // workers with work of the job that have died or were silent
	Events   []client.JournalLine `json:"events"`   // all events, also the other two lists
	All      int                  `json:"all"`      // number of all events that are kept
	Cut      bool                 `json:"cut"`      // there were more events, which are not kept
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
	a := journalAnswer{Failures: []client.JournalLine{}, Deaths: []client.JournalLine{}, Events: []client.JournalLine{}, All: len(lines), Cut: cut}
	add := func(list *[]client.JournalLine, line client.JournalLine) {
		if len(*list) < maxEvents {
			*list = append(*list, line)
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

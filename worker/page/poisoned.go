package page

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/client"
)

// poisonedAnswer is the answer to /api/v1/poisoned. poisonedAnswer lists the submissions that
// leaders have given up, sorted by name.
type poisonedAnswer struct {
	Poisoned []poisonedEntry `json:"poisoned"`
	Next     string          `json:"next"` // value of the query parameter after for the next page; empty on the last page
	More     int             `json:"more"` // number of entries on further pages
}

type poisonedEntry struct {
	Name       string     `json:"name"` // name of the entry for the action requeue
	Job        string     `json:"job"`  // the job's ID; empty if the message is not a submission
	Reason     string     `json:"reason"`
	Deliveries int        `json:"deliveries"`
	At         *time.Time `json:"at"`
	Requeue    string     `json:"requeue"` // the command that puts the entry back into the queue
}

const (
	poisonedAge = 5 * time.Second // time for which the answer is cached, unless an entry is requeued
	maxReason   = 1000            // maximum length in bytes of a reason
)

func (p *Page) getPoisoned(ctx context.Context, c *client.Client, r *http.Request) (any, error) {
	limit, err := limitOf(r)
	if err != nil {
		return nil, err
	}
	return p.poisonedAfter(ctx, c, r.FormValue("after"), limit)
}

func (p *Page) poisonedAfter(ctx context.Context, c *client.Client, after string, limit int) (poisonedAnswer, error) {
	return p.poisoned.get(fmt.Sprint(after, limit), poisonedAge, func() (poisonedAnswer, error) {
		list, more, err := c.PoisonedAfter(ctx, after, limit)
		a := poisonedAnswer{Poisoned: []poisonedEntry{}, More: more}
		for _, e := range list {
			a.Poisoned = append(a.Poisoned, poisonedEntry{
				Name: e.Name, Job: e.Job, Reason: e.Reason[:min(len(e.Reason), maxReason)], Deliveries: e.Deliveries, At: instant(e.At),
				Requeue: p.cfg.Program + " requeue " + e.Name,
			})
		}
		if more > 0 && len(list) > 0 {
			a.Next = list[len(list)-1].Name
		}
		return a, err
	})
}

package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// savedAnswer is the data in a saved page: answers of the API at one time. An answer in a
// savedAnswer is null if its request failed.
type savedAnswer struct {
	At         time.Time         `json:"at"`
	Cluster    clusterAnswer     `json:"cluster"`
	Workers    *workersAnswer    `json:"workers"`
	Terms      *termsAnswer      `json:"terms"`
	Throughput *throughputAnswer `json:"throughput"`
	Jobs       *jobsAnswer       `json:"jobs"`
	Poisoned   *poisonedAnswer   `json:"poisoned"`
	Job        *jobAnswer        `json:"job"` // the opened job
	Map        *mapAnswer        `json:"map"`
	Samples    *samplesAnswer    `json:"samples"`
	Events     *journalAnswer    `json:"events"`
}

// serveSaved serves an HTML file that contains the whole page with its data. The saved file can be
// opened without a server.
func (p *Page) serveSaved(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	windows, err := windowsOf(r)
	id := r.FormValue("job")
	if err == nil && id != "" && !store.ValidID(id) {
		err = badRequest{fmt.Errorf("job %.60q: want the whole ID of a job", id)}
	}
	var html []byte
	if err == nil {
		html, err = p.saved(ctx, r, id, windows)
	}
	if err != nil {
		writeError(w, statusOf(err), textOf(err))
		return
	}
	name := fmt.Sprintf("bellwether-%s-%s.html", p.cfg.Cluster.Name, time.Now().UTC().Format("20060102T150405Z"))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(html) // Write fails only if the client has disconnected
}

func (p *Page) saved(ctx context.Context, r *http.Request, id string, windows []client.Window) ([]byte, error) {
	c, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	s := savedAnswer{At: time.Now().UTC()}
	now := p.clusterOf(ctx, c, maxPage)
	s.Cluster, s.Workers = now.cluster, &now.workers
	s.Terms = had(p.termsBefore(ctx, c, 0, maxPage))
	s.Throughput = had(p.throughput(ctx, c))
	s.Poisoned = had(p.poisonedAfter(ctx, c, "", maxPage))
	s.Jobs = had(p.jobList(ctx, c, queryOf(r, maxPage)))
	if id != "" {
		s.Job = had(p.job(ctx, c, id))
		s.Map = had(p.mapOf(ctx, c, id, windows))
		s.Samples = had(p.samples(ctx, c, id))
		s.Events = had(p.journal(ctx, c, id))
	}
	data, err := json.Marshal(s) // Marshal escapes <, > and &, so no text in the data can end the script element
	if err != nil {
		return nil, fmt.Errorf("encode the saved page: %w", err)
	}
	return render(p.assets.saved(p.cfg.Cluster.Name, data))
}

// had returns a pointer to an answer, or nil if err is not nil.
func had[T any](answer T, err error) *T {
	if err != nil {
		return nil
	}
	return &answer
}

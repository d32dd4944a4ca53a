package page

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

type doneAnswer struct {
	Done bool   `json:"done"`
	Job  string `json:"job,omitempty"` // ID of the new job that the action has submitted
}

// handleActions adds the HTTP paths of actions, which change the cluster's state. A request for an
// action needs the token, even if the client is not a browser. If no token is configured, there are
// no paths for actions.
func (p *Page) handleActions(mux *http.ServeMux) {
	if p.cfg.Token == "" {
		return
	}
	submit := func(path string, do func(context.Context, *client.Client, *http.Request) (job string, err error)) {
		handler := p.answer(func(ctx context.Context, c *client.Client, r *http.Request) (any, error) {
			job, err := do(ctx, c, r)
			p.cfg.Logger.Info("Action from the page", "path", r.URL.Path, "from", r.RemoteAddr, "error", err)
			p.jobs.forget()
			return doneAnswer{err == nil, job}, err
		})
		mux.HandleFunc("POST /api/v1/"+path, func(w http.ResponseWriter, r *http.Request) {
			if !p.authorized(r) {
				w.Header().Set("WWW-Authenticate", "Bearer")
				writeError(w, http.StatusUnauthorized, "the token is missing or wrong: send it as Authorization: Bearer TOKEN")
				return
			}
			handler(w, r)
		})
	}
	act := func(path string, do func(context.Context, *client.Client, *http.Request) error) {
		submit(path, func(ctx context.Context, c *client.Client, r *http.Request) (string, error) { return "", do(ctx, c, r) })
	}
	submit("jobs/{id}/retry", p.retry)
	submit("jobs/{id}/resubmit", func(ctx context.Context, c *client.Client, r *http.Request) (string, error) {
		id, err := idOf(r)
		if err != nil {
			return "", err
		}
		return c.Resubmit(ctx, id, nil)
	})
	act("jobs/{id}/cancel", func(ctx context.Context, c *client.Client, r *http.Request) error {
		id, err := idOf(r)
		if err != nil {
			return err
		}
		return c.Cancel(ctx, id)
	})
	act("leader/step-down", func(ctx context.Context, c *client.Client, _ *http.Request) error {
		_, err := c.StepDown(ctx)
		return err
	})
	act("poisoned/{name}/requeue", func(ctx context.Context, c *client.Client, r *http.Request) error {
		defer p.poisoned.forget()
		return c.Requeue(ctx, r.PathValue("name"))
	})
}

// retry submits a job again that has failed.
func (p *Page) retry(ctx context.Context, c *client.Client, r *http.Request) (string, error) {
	id, err := idOf(r)
	if err != nil {
		return "", err
	}
	s, err := c.Status(ctx, id)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(p.cfg.Jobs, func(j jobs.Job) bool { return j.Name() == s.Job })
	if i < 0 {
		return c.Retry(ctx, id)
	}
	again, _, err := c.RetryAs(ctx, p.cfg.Jobs[i], id)
	return again, err
}

// authorized reports whether a request has the token. The comparison of tokens takes constant time.
func (p *Page) authorized(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(p.cfg.Token))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

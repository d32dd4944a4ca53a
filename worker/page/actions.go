package page

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/client"
)

type doneAnswer struct {
	Done bool `json:"done"`
}

// handleActions adds the HTTP paths of actions, which change the cluster's state. A request for an
// action needs the token, even if the client is not a browser. If no token is configured, there are
// no paths for actions.
func (p *Page) handleActions(mux *http.ServeMux) {
	if p.cfg.Token == "" {
		return
	}
	act := func(path string, do func(context.Context, *client.Client, *http.Request) error) {
		handler := p.answer(func(ctx context.Context, c *client.Client, r *http.Request) (any, error) {
			err := do(ctx, c, r)
			p.cfg.Logger.Info("Action from the page", "path", r.URL.Path, "from", r.RemoteAddr, "error", err)
			return doneAnswer{err == nil}, err
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

// authorized reports whether a request has the token. The comparison of tokens takes constant time.
func (p *Page) authorized(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(p.cfg.Token))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

package page

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

const (
	storageTimeout = 5 * time.Second  // timeout of one request to storage
	answerTimeout  = 30 * time.Second // the first answer opens storage, which takes several round trips
	maxPage        = 100              // maximum number of items in a list
)

// errorAnswer is the body of every answer with a status of 400 or above.
type errorAnswer struct {
	Error string `json:"error"`
}

func writeError(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(errorAnswer{text}) // Encode fails only if the client has disconnected
}

// badRequest is an error that the client of the API has caused.
type badRequest struct{ error }

// statusOf returns the HTTP status for an error.
func statusOf(err error) int {
	_, bad := errors.AsType[badRequest](err)
	switch {
	case bad, errors.Is(err, client.ErrInvalid):
		return http.StatusBadRequest
	case errors.Is(err, client.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, client.ErrEnded), errors.Is(err, client.ErrNotEnded):
		return http.StatusConflict
	}
	return http.StatusServiceUnavailable
}

// textOf returns the text of an error for viewers of the page. textOf hides configuration errors,
// which may contain names of files, from viewers who are not operators of the machine.
func textOf(err error) string {
	if errors.Is(err, cluster.ErrConfig) {
		return "the worker's configuration does not allow this: see its log"
	}
	return err.Error()
}

// answer converts a function that queries the cluster to an HTTP handler.
func (p *Page) answer(do func(context.Context, *client.Client, *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
		defer cancel()
		c, err := p.connect(ctx)
		var v any
		if err == nil {
			v, err = do(ctx, c, r)
		}
		if err != nil {
			writeError(w, statusOf(err), textOf(err))
			return
		}
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Cache-Control", "no-store")
		out, _ := compressed(w, r)
		_ = json.NewEncoder(out).Encode(v) // Encode and Close fail only if the client has disconnected
		if z, ok := out.(io.Closer); ok {
			_ = z.Close()
		}
	}
}

// limitOf returns the value of the query parameter "limit", the maximum number of items in a list.
func limitOf(r *http.Request) (int, error) {
	text := r.FormValue("limit")
	if text == "" {
		return maxPage, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPage {
		return 0, badRequest{fmt.Errorf("limit %.20q: want 1 to %d", text, maxPage)}
	}
	return n, nil
}

// idOf returns the job ID in a request's path.
func idOf(r *http.Request) (string, error) {
	id := r.PathValue("id")
	if !store.ValidID(id) {
		return "", badRequest{fmt.Errorf("job %.60q: want the whole ID of a job", id)}
	}
	return id, nil
}

func acceptsGzip(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
}

// compressed returns a writer that compresses with gzip if the browser accepts gzip. The returned
// function flush sends the bytes that were written so far.
func compressed(w http.ResponseWriter, r *http.Request) (out io.Writer, flush func() error) {
	rc := http.NewResponseController(w)
	w.Header().Set("Vary", "Accept-Encoding")
	if !acceptsGzip(r) {
		return w, rc.Flush
	}
	w.Header().Set("Content-Encoding", "gzip")
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // NewWriterLevel fails only for an invalid level
	return z, func() error {
		if err := z.Flush(); err != nil {
			return err
		}
		return rc.Flush()
	}
}

// memo caches each answer for a short time, so that many viewers cause only one request to the
// leader or to storage.
type memo[T any] struct {
	mu      sync.Mutex
	entries map[string]*memoEntry[T]
}

// memoEntry is a cached answer. Its mutex is locked while the answer is loaded.
type memoEntry[T any] struct {
	mu    sync.Mutex
	value T
	at    time.Time // time at which the answer was loaded; zero if there is no answer
}

const maxMemo = 64 // maximum number of cached answers

// get returns the cached answer to a question, or calls load if the cached answer is older than
// maxAge. Viewers that request the same answer at the same time wait for one call of load. Errors
// are not cached.
func (m *memo[T]) get(question string, maxAge time.Duration, load func() (T, error)) (T, error) {
	m.mu.Lock()
	e := m.entries[question]
	if e == nil {
		if m.entries == nil || len(m.entries) >= maxMemo {
			m.entries = map[string]*memoEntry[T]{}
		}
		e = &memoEntry[T]{}
		m.entries[question] = e
	}
	m.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.at.IsZero() && time.Since(e.at) < maxAge {
		return e.value, nil
	}
	value, err := load()
	if err != nil {
		return value, err
	}
	e.value, e.at = value, time.Now()
	return value, nil
}

// forget empties the cache.
func (m *memo[T]) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries = nil
}

// milliseconds returns a duration in milliseconds, with microsecond precision.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// instant returns a time for JSON, or nil for the zero time.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

package worker

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/bellwether-compute/bellwether/worker/internal/executor"
	"github.com/bellwether-compute/bellwether/worker/page"
)

// healthAnswer is the body of /healthz and /readyz.
type healthAnswer struct {
	OK      bool            `json:"ok"`
	Reasons []string        `json:"reasons"` // reasons why the process is not healthy or not ready
	Leads   bool            `json:"leads"`   // this process is the leader
	Worker  executor.Status `json:"worker"`
}

// serveHTTP listens on the configured address and serves /healthz, /readyz and /metrics, and the page that
// shows the cluster, until the page is closed.
func serveHTTP(cfg Config, h *health, log *slog.Logger) (*page.Page, error) {
	view, err := page.New(page.Config{Cluster: cfg.Cluster, Program: cfg.Name, Hosts: cfg.HTTPHosts, Token: cfg.HTTPToken, Jobs: cfg.Jobs, Logger: log})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	guarded := func(path string, handler http.HandlerFunc) { mux.Handle("GET "+path, view.Guard(handler)) }
	// A process that waits for NATS, storage or a leader is healthy, because a restart would not
	// help. A process with a loop that hangs, or whose storage was replaced, is not healthy, because
	// only a restart helps.
	guarded("/healthz", func(w http.ResponseWriter, r *http.Request) {
		broken := h.broken(r.Context())
		h.answer(w, len(broken) == 0, append(broken, h.notReady()...))
	})
	guarded("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		reasons := h.notReady()
		h.answer(w, len(reasons) == 0, reasons)
	})
	guarded("/metrics", promhttp.HandlerFor(h.metrics.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}).ServeHTTP)
	mux.Handle("/", view.Handler())
	address, err := view.Serve(cfg.HTTP, mux)
	if err != nil {
		return nil, configError{fmt.Errorf("serve health and metrics: %w", err)}
	}
	log.Info("Serving health and metrics", "address", address.String())
	return view, nil
}

func (h *health) answer(w http.ResponseWriter, ok bool, reasons []string) {
	w.Header().Set("Content-Type", "application/json")
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	// Encode fails only if the client has disconnected.
	_ = json.NewEncoder(w).Encode(healthAnswer{OK: ok, Reasons: reasons, Leads: h.epoch.Load() > 0, Worker: h.status()})
}

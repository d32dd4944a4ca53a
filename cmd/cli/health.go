package cli

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/bellwether-compute/bellwether/worker/executor"
)

// vitalsServer answers /healthz, /readyz and /metrics.
type vitalsServer struct {
	server  *http.Server
	serving sync.WaitGroup
}

// health is the answer of /healthz and /readyz.
type health struct {
	OK      bool            `json:"ok"`
	Reasons []string        `json:"reasons"` // what is the matter, if anything
	Leads   bool            `json:"leads"`   // this process is the leader
	Worker  executor.Status `json:"worker"`
}

// serveVitals begins to serve, until close is called.
func serveVitals(address string, v *vitals, log *slog.Logger) (*vitalsServer, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, usagef("serve health: %w", err)
	}
	mux := http.NewServeMux()
	// A worker that waits for NATS, storage or a leader works as it should: to start
	// it anew would mend nothing. One whose loops stand still is beyond help.
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		stuck := v.stuck(r.Context())
		answerHealth(w, v, len(stuck) == 0, append(stuck, v.troubles()...))
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		reasons := v.troubles()
		answerHealth(w, v, len(reasons) == 0, reasons)
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(v.metrics.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}))
	s := &vitalsServer{server: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}}
	s.serving.Go(func() {
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("Health is served no more", "error", err)
		}
	})
	log.Info("Serving health and metrics", "address", listener.Addr().String())
	return s, nil
}

func (s *vitalsServer) close() {
	_ = s.server.Close() // who asks just now gets no answer
	s.serving.Wait()
}

func answerHealth(w http.ResponseWriter, v *vitals, ok bool, reasons []string) {
	w.Header().Set("Content-Type", "application/json")
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	// Who asked may be gone.
	_ = json.NewEncoder(w).Encode(health{OK: ok, Reasons: reasons, Leads: v.epoch.Load() > 0, Worker: v.status()})
}

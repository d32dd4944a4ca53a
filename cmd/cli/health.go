package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellwether-compute/bellwether/worker"
)

// healthServer answers /healthz and /readyz.
type healthServer struct {
	listener net.Listener
	server   *http.Server
	status   atomic.Pointer[func() worker.Status]
	serving  sync.WaitGroup
}

// health is the answer of both.
type health struct {
	OK      bool          `json:"ok"`
	Reasons []string      `json:"reasons"` // what is the matter, if anything
	Worker  worker.Status `json:"worker"`
}

// serveHealth begins to serve and tells what status says, until another source
// is given or close is called.
func serveHealth(address string, status func() worker.Status, log *slog.Logger) (*healthServer, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, usagef("serve health: %w", err)
	}
	h := &healthServer{listener: listener}
	h.status.Store(&status)
	mux := http.NewServeMux()
	// A worker that waits for NATS or a leader works as it should: to start it anew
	// would mend nothing.
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		s := (*h.status.Load())()
		answerHealth(w, health{OK: true, Reasons: troubles(s), Worker: s})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		s := (*h.status.Load())()
		reasons := troubles(s)
		answerHealth(w, health{OK: len(reasons) == 0, Reasons: reasons, Worker: s})
	})
	h.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	h.serving.Go(func() {
		if err := h.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("Health is served no more", "error", err)
		}
	})
	log.Info("Serving health", "address", listener.Addr().String())
	return h, nil
}

// tell is what to answer from now on.
func (h *healthServer) tell(status func() worker.Status) { h.status.Store(&status) }

func (h *healthServer) close() {
	_ = h.server.Close() // who asks just now gets no answer
	h.serving.Wait()
}

func troubles(s worker.Status) []string {
	reasons := []string{}
	switch {
	case !s.Connected:
		reasons = append(reasons, "not connected to NATS")
	case s.Epoch == 0:
		reasons = append(reasons, "no leader is known")
	case !s.Answered:
		reasons = append(reasons, fmt.Sprintf("the leader of epoch %d has not answered", s.Epoch))
	}
	if s.Draining {
		reasons = append(reasons, "stopping")
	}
	return reasons
}

func answerHealth(w http.ResponseWriter, h health) {
	w.Header().Set("Content-Type", "application/json")
	if !h.OK {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(h) // who asked may be gone
}

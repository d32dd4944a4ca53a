package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/bellwether-compute/bellwether/worker"
)

// healthServer answers /healthz and /readyz.
type healthServer struct {
	listener net.Listener
	server   *http.Server
}

// health is the answer of both.
type health struct {
	OK      bool          `json:"ok"`
	Reasons []string      `json:"reasons"` // what is the matter, if anything
	Worker  worker.Status `json:"worker"`
}

// newHealthServer listens at once, so that an address in use is an error here.
func newHealthServer(address string, status func() worker.Status) (*healthServer, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, usagef("serve health: %w", err)
	}
	mux := http.NewServeMux()
	// A worker that waits for NATS or a leader works as it should: to start it anew
	// would mend nothing.
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		s := status()
		answerHealth(w, health{OK: true, Reasons: troubles(s), Worker: s})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		s := status()
		reasons := troubles(s)
		answerHealth(w, health{OK: len(reasons) == 0, Reasons: reasons, Worker: s})
	})
	return &healthServer{listener, &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}}, nil
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

// run serves until ctx is done.
func (h *healthServer) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = h.server.Close() })
	defer stop()
	if err := h.server.Serve(h.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve health: %w", err)
	}
	return nil
}

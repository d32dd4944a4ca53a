package worker

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/worker/internal/executor"
)

// health is the state of the process for /healthz, /readyz and /metrics. The methods of health may
// be called from any goroutine.
type health struct {
	idle    executor.Status // status before the executor starts
	nc      *nats.Conn
	metrics *metrics

	executor atomic.Pointer[executor.Worker] // the executor; nil until storage is open
	ended    atomic.Bool                     // the executor has ended, and the process will end soon
	replaced atomic.Pointer[error]           // why the storage counts as replaced, otherwise nil
	epoch    atomic.Uint64                   // epoch under which this process leads; 0 if it does not lead
	turned   chan struct{}                   // channel to which the leader's loop sends a value at each iteration
}

func newHealth(cfg Config, nc *nats.Conn) *health {
	h := &health{idle: executor.Status{ID: cfg.ID, Slots: cfg.Slots}, nc: nc, turned: make(chan struct{})}
	h.metrics = newMetrics(h, cfg)
	return h
}

// leads records that this process leads in term t, until the returned function end is called.
func (h *health) leads(t *election.Term) (end func()) {
	h.metrics.termBegan(t.Cause)
	h.epoch.Store(t.Epoch)
	return func() {
		h.epoch.Store(0)
		h.metrics.termEnded()
	}
}

// leaderTurned records an iteration of the leader's loop; it never blocks.
func (h *health) leaderTurned() {
	select {
	case h.turned <- struct{}{}:
	default:
	}
}

// status returns the executor's current status.
func (h *health) status() executor.Status {
	if e := h.executor.Load(); e != nil {
		return e.Status()
	}
	s := h.idle
	s.Connected = h.nc.IsConnected()
	return s
}

// partials returns the figures of the executor's large partials.
func (h *health) partials() executor.Partials {
	if e := h.executor.Load(); e != nil {
		return e.Partials()
	}
	return executor.Partials{}
}

// turnTimeout is how long one iteration of a loop may take. The loops of the executor and of the
// leader iterate at least once a second, and never block within an iteration.
const turnTimeout = 2 * time.Second

// broken returns the reasons why only a restart of the process helps.
func (h *health) broken(ctx context.Context) []string {
	reasons := h.stalled(ctx)
	if err := h.replaced.Load(); err != nil {
		reasons = append(reasons, (*err).Error())
	}
	return reasons
}

// stalled waits for the next iteration of the executor's loop and, if this process leads, of the
// leader's loop. It returns a reason for each loop that takes longer than turnTimeout.
func (h *health) stalled(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	reasons := []string{}
	if e := h.executor.Load(); e != nil && !h.ended.Load() {
		if err := e.Turns(ctx); err != nil {
			reasons = append(reasons, err.Error())
		}
	}
	if epoch := h.epoch.Load(); epoch > 0 {
		select {
		case <-h.turned:
		case <-ctx.Done():
			if h.epoch.Load() == epoch { // the term for which the loop was watched has not ended
				reasons = append(reasons, "the leader's loop does not turn")
			}
		}
	}
	return reasons
}

// notReady returns the reasons why the process cannot work for a leader.
func (h *health) notReady() []string {
	s := h.status()
	reasons := []string{}
	switch {
	case !s.Connected:
		reasons = append(reasons, "not connected to NATS")
	case h.executor.Load() == nil:
		reasons = append(reasons, "storage is not open yet")
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

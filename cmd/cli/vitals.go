package cli

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/worker/executor"
)

// vitals is what a worker's process can tell of itself at any moment: that it
// lives, whether it is of use, and its figures.
type vitals struct {
	idle    executor.Status // until there is a worker
	nc      *nats.Conn
	metrics *metrics

	worker atomic.Pointer[executor.Worker] // nil until storage is open
	left   atomic.Bool                     // the worker has ended, and the process is about to
	epoch  atomic.Uint64                   // that this process leads, or 0
	turned chan struct{}                   // offered at each turn of the leader's loop
}

func newVitals(idle executor.Status, nc *nats.Conn, b build) *vitals {
	v := &vitals{idle: idle, nc: nc, turned: make(chan struct{})}
	v.metrics = newMetrics(v, b)
	return v
}

// work says which worker there is from now on.
func (v *vitals) work(w *executor.Worker) { v.worker.Store(w) }

// leave says that the worker has ended, in order or not.
func (v *vitals) leave() { v.left.Store(true) }

// lead says that this process leads, until what it returns is called.
func (v *vitals) lead(t *election.Term) (end func()) {
	v.metrics.termBegun(t.Cause)
	v.epoch.Store(t.Epoch)
	return func() {
		v.epoch.Store(0)
		v.metrics.termEnded()
	}
}

// leaderTurned is called at each turn of the leader's loop, and never waits.
func (v *vitals) leaderTurned() {
	select {
	case v.turned <- struct{}{}:
	default:
	}
}

// status is what the worker does at the moment.
func (v *vitals) status() executor.Status {
	if w := v.worker.Load(); w != nil {
		return w.Status()
	}
	s := v.idle
	s.Connected = v.nc.IsConnected()
	return s
}

// turnsWithin is how long a loop has for a turn. Both have some each second, and
// far more with work; neither does anything in them that waits.
const turnsWithin = 2 * time.Second

// stuck says what of the process stands still: a worker's loop, or a leader's. It
// asks for a turn of each and so takes a moment.
func (v *vitals) stuck(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, turnsWithin)
	defer cancel()
	stuck := []string{}
	if w := v.worker.Load(); w != nil && !v.left.Load() {
		if err := w.Turns(ctx); err != nil {
			stuck = append(stuck, err.Error())
		}
	}
	if epoch := v.epoch.Load(); epoch > 0 {
		select {
		case <-v.turned:
		case <-ctx.Done():
			if v.epoch.Load() == epoch { // or it has ended meanwhile, as it should
				stuck = append(stuck, "the leader's loop stands still")
			}
		}
	}
	return stuck
}

// troubles says what keeps the process from being of use.
func (v *vitals) troubles() []string {
	s := v.status()
	reasons := []string{}
	switch {
	case !s.Connected:
		reasons = append(reasons, "not connected to NATS")
	case v.worker.Load() == nil:
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

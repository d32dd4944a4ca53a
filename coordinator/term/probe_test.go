package term_test

import (
	"slices"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// knows reports whether the leader knows a worker.
func (l *leader) knows(id string) bool {
	return slices.ContainsFunc(l.term.Workers().Workers, func(w wire.WorkerInfo) bool { return w.ID == id })
}

// TestProbes probes a silent worker. A dead worker is removed at once. A worker that is absent may be
// connecting to another NATS server, so it is removed only if it is absent again later.
func TestProbes(t *testing.T) {
	const confirmAfter = 750 * time.Millisecond
	silent := func(t *testing.T, sign term.Sign) (*cluster, *leader) {
		c := newCluster(t)
		l := c.lead(plain)
		w := c.addWorker("w1")
		w.follow(l)
		c.until("the worker is known", func() bool { return l.knows("w1") })
		c.workers = nil
		c.signs = map[string]term.Sign{"w1": sign}
		return c, l
	}
	t.Run("dead", func(t *testing.T) {
		c, l := silent(t, term.Dead)
		c.until("the worker is removed", func() bool { return !l.knows("w1") })
		if len(c.probes) != 1 || c.now.Sub(c.probes[0]) > step {
			t.Errorf("the worker was removed %v after the first of %d probes", c.now.Sub(c.probes[0]), len(c.probes))
		}
	})
	t.Run("absent", func(t *testing.T) {
		c, l := silent(t, term.Absent)
		c.until("the worker is removed", func() bool { return !l.knows("w1") })
		if took := c.now.Sub(c.probes[0]); took < confirmAfter || took > confirmAfter+2*step {
			t.Errorf("the worker was removed after %v, want %v", took, confirmAfter)
		}
	})
	t.Run("back", func(t *testing.T) {
		c, l := silent(t, term.Absent)
		c.until("the worker is probed", func() bool { return len(c.probes) > 0 })
		c.signs["w1"] = term.Possible
		c.pass(2 * confirmAfter)
		if !l.knows("w1") {
			t.Error("the worker was removed although it answers again")
		}
	})
}

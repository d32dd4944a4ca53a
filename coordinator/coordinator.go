package coordinator

import (
	"context"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Coordinator leads when it is asked to. It keeps nothing from one term to the
// next.
type Coordinator struct{ cfg Config }

// New checks the configuration.
func New(cfg Config) (*Coordinator, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configure coordinator: %w", err)
	}
	return &Coordinator{cfg}, nil
}

// Lead leads until ctx, which is the leadership itself, is done or the term is
// to stop. In the latter case everything is checkpointed, and the worker that
// should lead next is returned, or "" for any. Nothing that Lead has started is
// running when it returns.
func (c *Coordinator) Lead(ctx context.Context, leadership *election.Term) (successor string, err error) {
	inner, cancel := context.WithCancel(undated{ctx})
	l := newLoop(ctx, inner)
	epoch := leadership.Epoch
	link := newLink(c.cfg, epoch)
	defer func() { // in this order: callbacks may wait for the loop until the context is done
		cancel()
		link.close()
		l.tasks.Wait()
	}()
	t, err := term.New(inner, c.cfg.Config, leadership, l, link)
	if err != nil {
		return "", fmt.Errorf("lead epoch %d: %w", epoch, err)
	}
	if err := link.listen(hearing{t, l, wire.Pong{Epoch: epoch, Worker: c.cfg.Worker}}); err != nil {
		return "", fmt.Errorf("listen as leader of epoch %d: %w", epoch, err)
	}
	t.Begin()
	return l.run(t, leadership, c.cfg.OnTurn)
}

// undated is a leadership without its deadline, which moves on. Whoever took it
// for the bound of a call would wait for a lost answer as long as the leadership
// lasts; without it, each call has its driver's own bound.
type undated struct{ context.Context }

func (undated) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

package coordinator

import (
	"context"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Coordinator leads the terms that an election grants to its process. It keeps no state between
// terms.
type Coordinator struct{ cfg Config }

// New returns a coordinator, or an error if the configuration is not valid.
func New(cfg Config) (*Coordinator, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configure coordinator: %w", err)
	}
	return &Coordinator{cfg}, nil
}

// Lead leads until ctx, the context of the leadership, is done, or until the term has been told to
// stop and has written a checkpoint of each job. If the term was told to stop, Lead returns the ID
// of the worker that should lead next, or "" for any worker. When Lead returns, all goroutines that
// Lead started have ended.
//
// Lead is an [election.LeadFunc].
func (c *Coordinator) Lead(ctx context.Context, leadership *election.Term) (successor string, err error) {
	inner, cancel := context.WithCancel(noDeadline{ctx})
	l := newLoop(ctx, inner)
	epoch := leadership.Epoch
	transport := newTransport(c.cfg, epoch)
	defer func() { // cancel must run first, because a callback waits for the loop until the context is done
		cancel()
		transport.close()
		l.tasks.Wait()
	}()
	t, err := term.New(inner, c.cfg.Config, leadership, l, transport)
	if err != nil {
		return "", fmt.Errorf("lead epoch %d: %w", epoch, err)
	}
	if err := transport.listen(handlers{t, l, wire.Pong{Epoch: epoch, Worker: c.cfg.Worker}, c.cfg.Storage, transport.respond, &recentAnswers{}}); err != nil {
		return "", fmt.Errorf("listen as leader of epoch %d: %w", epoch, err)
	}
	t.Begin()
	return l.run(t, leadership, c.cfg.OnTurn)
}

// noDeadline hides the context's deadline. Each renewal of the lease extends the context's
// deadline, so a storage call that is bounded only by the deadline could wait for the rest of the
// term. Without a deadline in the context, the storage driver applies its own timeout to each call.
type noDeadline struct{ context.Context }

func (noDeadline) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

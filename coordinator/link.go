package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// link is the leader's side of NATS: what it hears, and what it says unasked.
type link struct {
	conn     *nats.Conn
	subjects wire.Subjects
	epoch    uint64
	log      *slog.Logger
	subs     []*nats.Subscription
	done     sync.WaitGroup // the subscriptions' callbacks

	mu         sync.Mutex
	refused    map[string]time.Time // when a refusal was logged last, by subject
	reconnects uint64               // of the connection, when last looked at
	stableFrom time.Time            // what was not heard before is no evidence
}

// probeTimeout is how long a worker may take to answer a probe. Silence after
// that proves nothing, so there is no harm in a short one.
const probeTimeout = time.Second

// stableFor is how long after this process reconnected nobody's absence counts.
const stableFor = 2 * time.Second

var _ term.Link = (*link)(nil)

func newLink(cfg Config, epoch uint64) *link {
	return &link{
		conn: cfg.Conn, subjects: cfg.Subjects, epoch: epoch, log: cfg.Logger.With("epoch", epoch),
		refused: map[string]time.Time{}, reconnects: cfg.Conn.Stats().Reconnects,
	}
}

// listen subscribes to all that a leader is told and asked. The link is to be
// closed even if that fails.
func (l *link) listen(h hearing) error {
	s := l.subjects
	for _, to := range []struct {
		subject string
		handle  func(*nats.Msg) error
	}{
		{s.Report(l.epoch), h.report},
		{s.Ping(l.epoch), h.ping},
		{s.Ask(wire.AskLeader), h.askLeader},
		{s.Ask(wire.AskStepDown), h.askStepDown},
		{s.Ask(wire.AskWorkers), h.askWorkers},
		{s.Ask(wire.AskJobs), h.askJobs},
		{s.Ask(wire.AskCancel), h.askCancel},
	} {
		l.done.Add(1)
		sub, err := l.conn.Subscribe(to.subject, func(m *nats.Msg) {
			if err := to.handle(m); err != nil {
				l.refuse(m.Subject, err)
			}
		})
		if err != nil {
			l.done.Done()
			return fmt.Errorf("subscribe to %s: %w", to.subject, err)
		}
		sub.SetClosedHandler(func(string) { l.done.Done() })
		l.subs = append(l.subs, sub)
	}
	return nil
}

// close ends the subscriptions and waits for their callbacks. The leader's
// context must be done, or callbacks may wait for its loop.
func (l *link) close() {
	for _, sub := range l.subs {
		if err := sub.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) && !errors.Is(err, nats.ErrBadSubscription) {
			l.log.Warn("Could not unsubscribe", "subject", sub.Subject, "error", err)
		}
	}
	l.done.Wait()
}

// refuse logs a message that cannot be taken, at most once a second per subject.
func (l *link) refuse(subject string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.refused[subject]) < time.Second {
		return
	}
	l.refused[subject] = time.Now()
	l.log.Warn("Message refused", "subject", subject, "error", err)
}

func (l *link) publish(subject string, data []byte) {
	// An error means that there is no connection; whoever misses this will ask or
	// be told again.
	_ = l.conn.Publish(subject, data)
}

func (l *link) Beacon(b wire.Beacon) { l.publish(l.subjects.Beacon(), wire.Encode(b)) }

func (l *link) Nudge(worker string) {
	l.publish(l.subjects.Nudge(worker), wire.Encode(wire.Nudge{Epoch: l.epoch}))
}

// Probe asks a worker for a sign of life and reports whether NATS found no
// subscriber, which proves that the worker's process is dead. It proves nothing
// shortly after this process reconnected: when a NATS server restarts, its clients
// reconnect one after the other.
func (l *link) Probe(ctx context.Context, worker string) (dead bool) {
	stable := l.stable()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err := l.conn.RequestWithContext(ctx, l.subjects.Probe(worker), wire.Encode(wire.Probe{Epoch: l.epoch}))
	return errors.Is(err, nats.ErrNoResponders) && stable && l.stable()
}

// stable reports whether the connection has been there for a while.
func (l *link) stable() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.conn.Stats().Reconnects; n != l.reconnects {
		l.reconnects, l.stableFrom = n, time.Now().Add(stableFor)
	}
	return l.conn.IsConnected() && !time.Now().Before(l.stableFrom)
}

package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// link is the leader's side of NATS: what it hears, and what it says unasked.
type link struct {
	conn     *nats.Conn
	subjects wire.Subjects
	epoch    uint64
	worker   string
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

// What passes for the death of a worker. When a NATS server restarts, its
// clients are back one after the other.
const (
	// stableFor is how long after this process reconnected nobody's absence counts.
	stableFor = 2 * time.Second
	// confirmAfter is when a worker that nobody answered for is looked for once more:
	// longer than a worker takes to connect to another server.
	confirmAfter = 750 * time.Millisecond
)

// listen subscribes to all that a leader is told and asked. The link is to be
// closed even if that fails.
func (r *reign) listen() (*link, error) {
	l := &link{
		conn: r.cfg.Conn, subjects: r.cfg.Subjects, epoch: r.term.Epoch, worker: r.cfg.Worker, log: r.log,
		refused: map[string]time.Time{}, reconnects: r.cfg.Conn.Stats().Reconnects,
	}
	s := l.subjects
	for _, to := range []struct {
		subject string
		handle  func(*nats.Msg) error
	}{
		{s.Report(l.epoch), r.hearReport},
		{s.Ping(l.epoch), r.hearPing},
		{s.Ask(wire.AskLeader), func(m *nats.Msg) error { r.post(askLeader{m.Respond}); return nil }},
		{s.Ask(wire.AskStepDown), func(m *nats.Msg) error { r.post(askStepDown{m.Respond}); return nil }},
		{s.Ask(wire.AskWorkers), func(m *nats.Msg) error { r.post(askWorkers{m.Respond}); return nil }},
		{s.Ask(wire.AskJobs), r.hearJobQuery},
		{s.Ask(wire.AskCancel), r.hearCancel},
	} {
		l.done.Add(1)
		sub, err := l.conn.Subscribe(to.subject, func(m *nats.Msg) {
			if err := to.handle(m); err != nil {
				l.refuse(m.Subject, err)
			}
		})
		if err != nil {
			l.done.Done()
			return l, fmt.Errorf("subscribe to %s: %w", to.subject, err)
		}
		sub.SetClosedHandler(func(string) { l.done.Done() })
		l.subs = append(l.subs, sub)
	}
	return l, nil
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

func (l *link) beacon(b wire.Beacon) { l.publish(l.subjects.Beacon(), wire.Encode(b)) }

func (l *link) nudge(worker string) {
	l.publish(l.subjects.Nudge(worker), wire.Encode(wire.Nudge{Epoch: l.epoch}))
}

// gone reports whether a worker's process is gone: nobody listens where it
// should, nor a moment later, unless once is enough.
func (l *link) gone(ctx context.Context, worker string, once bool) bool {
	if !l.absent(ctx, worker) {
		return false
	}
	if once {
		return true
	}
	select {
	case <-time.After(confirmAfter):
	case <-ctx.Done():
	}
	return l.absent(ctx, worker)
}

// absent reports whether nobody listens where the worker should.
func (l *link) absent(ctx context.Context, worker string) bool {
	stable := l.stable()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err := l.conn.RequestWithContext(ctx, l.subjects.Nudge(worker), wire.Encode(wire.Nudge{Epoch: l.epoch}))
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

func (r *reign) sendBeacon() {
	r.beaconed = time.Now()
	workers := 0
	if r.ledger != nil {
		workers = len(r.ledger.Workers())
	}
	r.link.beacon(wire.Beacon{
		Epoch: r.term.Epoch, Worker: r.cfg.Worker, LeaseID: r.term.LeaseID, Workers: workers, Next: r.cfg.BeaconEvery,
	})
}

// hearPing answers through the loop: a leader whose loop stands still must not
// look alive.
func (r *reign) hearPing(m *nats.Msg) error {
	if _, err := wire.Decode[wire.Ping](m.Data); err != nil {
		return err
	}
	r.post(pingIn{m.Respond})
	return nil
}

type pingIn struct{ respond func([]byte) error }

func (in pingIn) on(r *reign) {
	_ = in.respond(wire.Encode(wire.Pong{Epoch: r.term.Epoch, Worker: r.cfg.Worker}))
}

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

	mu      sync.Mutex
	refused map[string]time.Time // when a refusal was logged last, by subject
}

// probeTimeout is how long a worker may take to answer a probe. Silence after
// that proves nothing, so there is no harm in a short one.
const probeTimeout = time.Second

// listen subscribes to all that a leader is told and asked. The link is to be
// closed even if that fails.
func (r *reign) listen() (*link, error) {
	l := &link{
		conn: r.cfg.Conn, subjects: r.cfg.Subjects, epoch: r.term.Epoch, worker: r.cfg.Worker, log: r.log,
		refused: map[string]time.Time{},
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

// gone reports whether nobody listens where the worker should.
func (l *link) gone(ctx context.Context, worker string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err := l.conn.RequestWithContext(ctx, l.subjects.Nudge(worker), wire.Encode(wire.Nudge{Epoch: l.epoch}))
	return errors.Is(err, nats.ErrNoResponders)
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

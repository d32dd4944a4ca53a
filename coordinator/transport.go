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

// transport contains the leader's NATS subscriptions and sends the leader's messages.
type transport struct {
	conn      *nats.Conn
	subjects  wire.Subjects
	epoch     uint64
	storage   string // identity of the storage that the leader uses
	log       *slog.Logger
	subs      []*nats.Subscription
	callbacks sync.WaitGroup // counts the running callbacks of the subscriptions

	mu         sync.Mutex
	logged     map[failureKind]time.Time // time of the last log line about each kind of failure
	reconnects uint64                    // number of the connection's reconnects at the last check
	stableFrom time.Time                 // time before which the results of probes are not conclusive
}

// probeTimeout is how long a worker may take to answer a probe. A short probeTimeout does no harm,
// because a timeout does not prove that the worker is dead.
const probeTimeout = time.Second

// stableFor is the time after a reconnect of this process during which the results of probes are
// not conclusive.
const stableFor = 2 * time.Second

// failureKind identifies a kind of failure with messages, for logging.
type failureKind struct{ text, subject string }

// warnEvery is the shortest time between two log lines about the same kind of failure.
const warnEvery = time.Second

var _ term.Transport = (*transport)(nil)

func newTransport(cfg Config, epoch uint64) *transport {
	return &transport{
		conn: cfg.Conn, subjects: cfg.Subjects, epoch: epoch, storage: cfg.Storage, log: cfg.Logger.With("epoch", epoch),
		logged: map[failureKind]time.Time{}, reconnects: cfg.Conn.Stats().Reconnects,
	}
}

// listen subscribes to the leader's subjects. The caller must call close even if listen fails.
func (t *transport) listen(h handlers) error {
	s := t.subjects
	for _, on := range []struct {
		subject string
		handle  func(*nats.Msg) error
	}{
		{s.Report(t.epoch), h.onReport},
		{s.Ping(t.epoch), h.onPing},
		{s.Ask(wire.AskLeader), h.onAskLeader},
		{s.Ask(wire.AskStepDown), h.onAskStepDown},
		{s.Ask(wire.AskWorkers), h.onAskWorkers},
		{s.Ask(wire.AskJobs), h.onAskJobs},
		{s.Ask(wire.AskCancel), h.onAskCancel},
	} {
		t.callbacks.Add(1)
		sub, err := t.conn.Subscribe(on.subject, func(m *nats.Msg) {
			if err := on.handle(m); err != nil {
				t.warn("Message refused", m.Subject, err)
			}
		})
		if err != nil {
			t.callbacks.Done()
			return fmt.Errorf("subscribe to %s: %w", on.subject, err)
		}
		sub.SetClosedHandler(func(string) { t.callbacks.Done() })
		t.subs = append(t.subs, sub)
	}
	return nil
}

// close ends the subscriptions and waits for their callbacks. The loop's context must be done
// before close, because a callback may wait for the loop.
func (t *transport) close() {
	for _, sub := range t.subs {
		if err := sub.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) && !errors.Is(err, nats.ErrBadSubscription) {
			t.log.Warn("Could not unsubscribe", "subject", sub.Subject, "error", err)
		}
	}
	t.callbacks.Wait()
}

// warn logs a failure, at most once per warnEvery for the same kind of failure.
func (t *transport) warn(text, subject string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kind := failureKind{text, subject}
	if time.Since(t.logged[kind]) < warnEvery {
		return
	}
	t.logged[kind] = time.Now()
	t.log.Warn(text, "subject", subject, "error", err)
}

// publish sends a message to a subject; the parameter name describes the message in logs. It only
// logs a failure to send, because a lost message only causes a delay.
func (t *transport) publish(name, subject string, data []byte) {
	t.sent(name, len(data), t.conn.Publish(subject, data))
}

// respond answers a message. It only logs a failure to send.
func (t *transport) respond(m *nats.Msg, answer []byte) {
	t.sent(m.Subject, len(answer), m.Respond(answer))
}

func (t *transport) sent(subject string, size int, err error) {
	if err != nil && !errors.Is(err, nats.ErrConnectionClosed) { // without a connection the process is ending
		t.warn("Message cannot be sent", subject, fmt.Errorf("message of %d bytes: %w", size, err))
	}
}

func (t *transport) Beacon(b wire.Beacon) {
	t.publish("beacon", t.subjects.Beacon(), wire.Encode(b))
}

func (t *transport) Nudge(worker string) {
	t.publish("nudge", t.subjects.Nudge(worker), wire.Encode(wire.Nudge{Epoch: t.epoch, Storage: t.storage}))
}

func (t *transport) Ended(job string) {
	t.publish("job ended", t.subjects.Ended(job), nil)
}

// Probe asks a worker for a sign of life. If NATS finds no subscriber, the worker's process is dead
// or has lost its connection. Shortly after a reconnect of this process, a missing subscriber proves
// nothing, because the clients of a restarted NATS server reconnect one after the other.
//
// Probe returns Dead if the worker's process was connected to the same NATS server as this process,
// and if its connection for large partials has ended too. A living process loses both connections at
// once only together with its server, to which this process is still connected, or with its network,
// and then it cannot work for this leader.
func (t *transport) Probe(ctx context.Context, worker, server string) term.Sign {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	stable := t.stable()
	absent := t.nobodyListens(ctx, t.subjects.Probe(worker), wire.Encode(wire.Probe{Epoch: t.epoch, Storage: t.storage}))
	dead := absent && server != "" && server == t.conn.ConnectedServerId() && t.nobodyListens(ctx, t.subjects.Bulk(worker), nil)
	switch {
	case !absent || !stable || !t.stable():
		return term.Possible
	case dead:
		return term.Dead
	}
	return term.Absent
}

// nobodyListens sends a request, and reports whether NATS finds no subscriber.
func (t *transport) nobodyListens(ctx context.Context, subject string, request []byte) bool {
	_, err := t.conn.RequestWithContext(ctx, subject, request)
	return errors.Is(err, nats.ErrNoResponders)
}

// stable reports whether the connection has been uninterrupted for stableFor.
func (t *transport) stable() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.conn.Stats().Reconnects; n != t.reconnects {
		t.reconnects, t.stableFrom = n, time.Now().Add(stableFor)
	}
	return t.conn.IsConnected() && !time.Now().Before(t.stableFrom)
}

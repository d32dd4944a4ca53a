package executor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// link connects the worker's session with NATS. It turns messages, connection changes and the
// passing of time into inputs of the session, and performs the session's actions. All work of the
// link happens on the goroutine that runs loop.
type link struct {
	w      *Worker
	nc     *nats.Conn
	subs   []*nats.Subscription
	msgs   chan *nats.Msg // messages of all subscriptions; if the channel is full, messages are dropped, and their senders resend them
	status chan nats.Status
	inbox  string // prefix of the subjects on which replies arrive

	connected  bool          // connection state that the session was last told
	due        time.Duration // time at which the session needs its next tick
	left       bool          // the session has ended
	drainSince time.Time     // time at which the worker began to drain
	report     struct {      // the last report that was sent
		exchange uint64
		epoch    uint64
		data     []byte
	}
	records chan recordRead // result of the last ReadRecord; the buffer has one element
	reading bool            // the lease's record is being read
	limits  logLimiter
}

// recordRead is the outcome of a read of the lease's record.
type recordRead struct {
	session.RecordRead
	err error
}

// errDisconnected means that the connection was closed by its owner or by the NATS client.
var errDisconnected = errors.New("the connection to NATS is closed")

const (
	answerTo  = "leader" // last token of the subject for replies to requests for the leader
	msgBuffer = 256
)

func newLink(w *Worker, nc *nats.Conn) (*link, error) {
	l := &link{
		w: w, nc: nc, msgs: make(chan *nats.Msg, msgBuffer), inbox: nc.NewInbox(),
		status:  nc.StatusChanged(nats.CONNECTED, nats.RECONNECTING, nats.CLOSED),
		records: make(chan recordRead, 1),
		limits:  logLimiter{log: w.cfg.Logger, every: w.timing.logEvery},
	}
	for _, subject := range []string{l.inbox + ".*", w.cfg.Subjects.Beacon(), w.cfg.Subjects.Nudge(w.cfg.ID), w.cfg.Subjects.Probe(w.cfg.ID)} {
		sub, err := nc.ChanSubscribe(subject, l.msgs)
		if err != nil {
			l.close()
			return nil, fmt.Errorf("subscribe to %s: %w", subject, err)
		}
		l.subs = append(l.subs, sub)
	}
	return l, nil
}

func (l *link) close() {
	for _, sub := range l.subs {
		_ = sub.Unsubscribe() // Unsubscribe fails only if the connection is closed
	}
	l.nc.RemoveStatusListener(l.status)
}

// loop exchanges messages with leaders until ctx is done and the worker has drained.
func (l *link) loop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	stop, unfit := ctx.Done(), (<-chan struct{})(l.w.unfit)
	var in session.Input = session.Tick{}
	restored := false // the connection was restored, possibly before the loop noticed the loss
	for {
		if l.nc.IsClosed() {
			return errDisconnected
		}
		if connected := l.nc.IsConnected(); connected != l.connected || connected && restored {
			l.connected = connected
			l.step(l.connection())
		}
		l.step(in)
		if l.left {
			return nil
		}
		if l.w.partials.held != nil && l.w.partials.held.Short() { // checkMemory can drop partials that have become durable
			l.w.checkMemory()
		}
		in, restored = session.Tick{}, false
		timer.Reset(l.due - l.w.now())
		select {
		case <-stop:
			stop = nil
			in = session.Drain{}
			l.drainSince = time.Now()
		case <-unfit:
			unfit = nil
			in = session.Drain{}
			l.w.cfg.Logger.Error("No slot is usable, since code of jobs does not return: leaving, so that a new process can take over")
		case m := <-l.msgs:
			in = l.hear(m)
		case r := <-l.records:
			in = l.recordRead(r)
		case status := <-l.status:
			restored = status == nats.CONNECTED
		case <-l.w.partials.changed:
			l.w.checkMemory()
		case <-l.w.wake:
		case <-l.w.ping:
		case <-timer.C:
		}
	}
}

func (l *link) connection() session.Input {
	if l.connected {
		return session.Connected{Server: l.nc.ConnectedServerId()}
	}
	return session.Disconnected{}
}

// step passes an input to the session and performs the session's actions.
func (l *link) step(in session.Input) {
	w := l.w
	w.mu.Lock()
	actions := w.session.Step(w.now(), in)
	for _, a := range actions {
		w.direct(a)
	}
	l.due = w.session.Due()
	w.mu.Unlock()
	for _, a := range actions {
		l.perform(a)
	}
}

// perform performs an action that needs NATS, or that concerns the process as a whole.
func (l *link) perform(action session.Action) {
	w := l.w
	switch a := action.(type) {
	case session.SendReport:
		l.sendReport(a)
	case session.ResendReport:
		l.publishReport()
	case session.AskLeader:
		l.askLeader()
	case session.ReadRecord:
		l.readRecord(a.Followed)
	case session.CancelRunning:
		if a.Running > 0 {
			w.cfg.Logger.Warn("Draining takes too long, running partitions are cancelled", "running", a.Running)
		}
		w.mu.Lock()
		w.kill()
		w.work.Broadcast() // wake task.before, which waits for the receipt
		w.mu.Unlock()
	case session.Leave:
		l.left = true
		if a.Reason == session.TimedOut {
			w.cfg.Logger.Warn("Leaving before everything is durable; the rest is computed again", "items", a.Items, "running", a.Running)
		}
	case session.Notice:
		l.note(a)
	}
}

// note logs or measures a notice from the session.
func (l *link) note(notice session.Notice) {
	log := l.w.cfg.Logger
	switch n := notice.(type) {
	case session.Following:
		if n.Epoch < n.Was {
			log.Warn("No leader answers, following the epoch in the lease's record", "epoch", n.Epoch, "was", n.Was)
			break
		}
		log.Debug("Following a leader", "epoch", n.Epoch)
	case session.ReportAnswered:
		l.w.cfg.ReportDone(n.Took)
	case session.ReportRefused:
		l.limits.warn("refused", "Leader refuses the report", "epoch", n.Epoch, "error", n.Reason)
	case session.Benched:
		log.Warn("Leader assigns no partitions to this worker", "epoch", n.Epoch, "reason", n.Reason)
	case session.ReceiptDropped:
		l.limits.warn("receipt", "Message refused", "subject", l.inbox, "error", n.Err)
	case session.OrderIgnored:
		l.limits.warn("order", "Leader's order ignored", "epoch", n.Epoch, "error", n.Err)
	case session.MemoryFull:
		l.limits.warn("full", "Too much is not durable yet, no partition is begun until it is", "bytes", n.Bytes)
	case session.DrainBegun:
		log.Info("Draining", "running", n.Running)
	}
}

// sendReport encodes a report and sends it.
func (l *link) sendReport(a session.SendReport) {
	l.report.exchange, l.report.epoch, l.report.data = a.Exchange, a.Report.Epoch, wire.Encode(a.Report)
	l.publishReport()
}

// publishReport sends the bytes of the last report.
func (l *link) publishReport() {
	l.publish(l.w.cfg.Subjects.Report(l.report.epoch), strconv.FormatUint(l.report.exchange, 10), l.report.data)
}

func (l *link) askLeader() {
	l.publish(l.w.cfg.Subjects.Ask(wire.AskLeader), answerTo, nil)
}

// readTimeout bounds a read of the lease's record. If the read times out, the session requests
// another read later.
const readTimeout = 3 * time.Second

// readRecord reads the lease's record on another goroutine.
func (l *link) readRecord(followed uint64) {
	w := l.w
	if w.cfg.ReadEpoch == nil || l.reading {
		return
	}
	l.reading = true
	w.goroutines.Go(func() {
		ctx, cancel := context.WithTimeout(w.life, readTimeout)
		defer cancel()
		epoch, err := w.cfg.ReadEpoch(ctx)
		l.records <- recordRead{session.RecordRead{Followed: followed, Epoch: epoch}, err}
	})
}

// recordRead converts the outcome of a read to an input of the session.
func (l *link) recordRead(r recordRead) session.Input {
	l.reading = false
	if r.err != nil {
		l.limits.warn("record", "Cannot read the lease's record", "error", r.err)
		return session.Tick{}
	}
	return r.RecordRead
}

func (l *link) publish(subject, answer string, data []byte) {
	if err := l.nc.PublishRequest(subject, l.inbox+"."+answer, data); err != nil {
		l.limits.warn("send", "Message cannot be sent", "subject", subject, "error", err)
	}
}

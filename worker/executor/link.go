package executor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// link is the worker's conversation with its leader. All of it happens on the
// goroutine that runs loop.
type link struct {
	w      *Worker
	nc     *nats.Conn
	subs   []*nats.Subscription
	msgs   chan *nats.Msg // all subscriptions; what overflows is sent again by its sender
	status chan nats.Status
	inbox  string // prefix of the subjects that answers come to

	sent     []byte    // the report under way, nil if none
	sentAt   time.Time // when it was first sent
	exchange uint64    // numbers the reports, so that answers to earlier ones are known
	resendAt time.Time // when it is sent again
	retry    time.Duration
	alone    bool // nobody listens where the leader should

	every     time.Duration // between reports
	dueAt     time.Time     // when the next report is due, whatever happens
	notBefore time.Time     // when the next report may be sent at the earliest
	refused   time.Duration // how long the last refusal made it wait; 0 after a receipt
	wanted    bool          // a report with all that slots have is wanted at once
	collectBy time.Time     // a report waits for slots until then; zero if none does
	askAt     time.Time     // when to ask who leads, while that is not known

	draining bool
	killAt   time.Time // when what still runs is cancelled; zero once it was
	leaveAt  time.Time // when to leave, come what may

	complaints map[string]*complaint
}

// errDisconnected: the connection was closed for good.
var errDisconnected = errors.New("the connection to NATS is closed")

const (
	answerTo  = "leader" // last token of the subject for answers to who leads
	msgBuffer = 256
)

func newLink(w *Worker) (*link, error) {
	l := &link{
		w: w, nc: w.nc, msgs: make(chan *nats.Msg, msgBuffer), inbox: w.nc.NewInbox(), every: w.pace.every,
		status: w.nc.StatusChanged(nats.CONNECTED, nats.CLOSED), complaints: make(map[string]*complaint),
	}
	for _, subject := range []string{l.inbox + ".*", w.cfg.Subjects.Beacon(), w.cfg.Subjects.Nudge(w.cfg.ID), w.cfg.Subjects.Probe(w.cfg.ID)} {
		sub, err := l.nc.ChanSubscribe(subject, l.msgs)
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
		_ = sub.Unsubscribe() // fails only where the connection is closed
	}
	l.nc.RemoveStatusListener(l.status)
}

// loop talks to leaders until ctx is done and the worker is drained.
func (l *link) loop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	stop := ctx.Done()
	for {
		wake, done, err := l.turn(time.Now())
		if done {
			return err
		}
		timer.Reset(time.Until(wake))
		select {
		case <-stop:
			stop = nil
			l.drain(time.Now())
		case m := <-l.msgs:
			l.hear(m, time.Now())
		case <-l.status:
			// Messages may have been missed, a report among them.
			l.resendAt, l.askAt = time.Time{}, time.Time{}
		case <-l.w.stir:
		case <-l.w.look:
		case <-timer.C:
		}
	}
}

// turn does what is due, and says when something will be.
func (l *link) turn(now time.Time) (wake time.Time, done bool, err error) {
	if l.nc.IsClosed() {
		return wake, true, errDisconnected
	}
	wake = now.Add(time.Hour)
	if l.draining {
		if l.mayLeave(now) {
			return wake, true, nil
		}
		wake = l.leaveAt
		if !l.killAt.IsZero() {
			wake = l.killAt
		}
	}
	if !l.nc.IsConnected() {
		return wake, false, nil
	}
	l.w.mu.Lock()
	epoch, urgent := l.w.book.Epoch(), l.w.book.Urgent()
	l.w.mu.Unlock()
	if epoch == 0 || l.alone {
		if !now.Before(l.askAt) {
			l.askAt = now.Add(l.w.pace.retryMost)
			l.publish(l.w.cfg.Subjects.Ask(wire.AskLeader), answerTo, nil)
		}
		wake = earlier(wake, l.askAt)
	}
	switch {
	case epoch == 0:
		return wake, false, nil
	case l.sent != nil:
		if !now.Before(l.resendAt) {
			l.send(now)
		}
		return earlier(wake, l.resendAt), false, nil
	case !urgent && !l.wanted && now.Before(l.dueAt):
		return earlier(wake, l.dueAt), false, nil
	case now.Before(l.notBefore):
		return earlier(wake, l.notBefore), false, nil
	case l.collect(now):
		return earlier(wake, l.collectBy), false, nil
	}
	l.report(now)
	return earlier(wake, l.resendAt), false, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// collect asks the slots for what they have, where the report is one that should
// have it, and reports whether it is worth waiting for.
func (l *link) collect(now time.Time) (wait bool) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	if l.collectBy.IsZero() {
		if !l.wanted && !l.draining && now.Before(l.dueAt) {
			return false // the others are asked when theirs is due
		}
		l.w.ask(nil)
		l.collectBy = now.Add(l.w.pace.handOver)
	}
	return l.w.asked > 0 && now.Before(l.collectBy)
}

// report makes the next report and sends it.
func (l *link) report(now time.Time) {
	l.w.mu.Lock()
	report := l.w.book.Report()
	full := l.w.book.Full()
	l.w.mu.Unlock()
	if full {
		l.complain("full", "Too much is not durable yet, nothing more is begun until it is")
	}
	l.sent, l.sentAt = wire.Encode(report), now
	l.exchange++
	l.retry = l.w.pace.retryFirst
	l.wanted, l.collectBy = false, time.Time{}
	l.notBefore = now.Add(l.w.pace.spacing)
	every := l.every
	if l.draining {
		every = min(every, l.w.pace.draining)
	}
	l.dueAt = now.Add(every)
	l.send(now)
}

// send sends the report under way, once more if need be.
func (l *link) send(now time.Time) {
	l.w.mu.Lock()
	epoch := l.w.book.Epoch()
	l.w.mu.Unlock()
	l.resendAt = now.Add(l.w.pace.answer)
	l.publish(l.w.cfg.Subjects.Report(epoch), strconv.FormatUint(l.exchange, 10), l.sent)
}

func (l *link) publish(subject, answer string, data []byte) {
	if err := l.nc.PublishRequest(subject, l.inbox+"."+answer, data); err != nil {
		l.complain("send", "Message cannot be sent", "subject", subject, "error", err)
	}
}

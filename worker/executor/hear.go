package executor

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// hear takes a message.
func (l *link) hear(m *nats.Msg, now time.Time) {
	answer, ours := strings.CutPrefix(m.Subject, l.inbox+".")
	var err error
	switch {
	case ours && m.Header.Get("Status") == "503": // NATS: no responders
		l.hearNobody(answer, now)
	case ours && answer == answerTo:
		err = l.hearLeader(m, now)
	case ours && answer == strconv.FormatUint(l.exchange, 10) && l.sent != nil:
		err = l.hearReceipt(m, now)
	case ours: // an answer that came twice
	case m.Subject == l.w.cfg.Subjects.Beacon():
		err = l.hearBeacon(m, now)
	case m.Subject == l.w.cfg.Subjects.Probe(l.w.cfg.ID):
		err = l.hearProbe(m, now)
	default:
		err = l.hearNudge(m, now)
	}
	if err != nil {
		l.complain(m.Sub.Subject, "Message refused", "subject", m.Subject, "error", err)
	}
}

// hearNobody takes note that nobody listens: the leader is dead, or not yet
// there. Its successor will be heard of; or else it comes back itself.
func (l *link) hearNobody(answer string, now time.Time) {
	if answer != strconv.FormatUint(l.exchange, 10) || l.sent == nil {
		return
	}
	if !l.alone {
		l.alone, l.askAt = true, now // there may be another, whose beacon was missed
		l.setAnswered(false)
	}
	l.resendAt = now.Add(l.retry)
	l.retry = min(2*l.retry, l.w.pace.retryMost)
}

func (l *link) hearLeader(m *nats.Msg, now time.Time) error {
	info, err := wire.Decode[wire.LeaderInfo](m.Data)
	if err != nil {
		return err
	}
	l.follow(info.Epoch, now)
	return nil
}

func (l *link) hearBeacon(m *nats.Msg, now time.Time) error {
	beacon, err := wire.Decode[wire.Beacon](m.Data)
	if err != nil {
		return err
	}
	if beacon.Epoch == 0 {
		return fmt.Errorf("%w: beacon without an epoch", wire.ErrMalformed)
	}
	l.follow(beacon.Epoch, now)
	return nil
}

func (l *link) hearNudge(m *nats.Msg, now time.Time) error {
	nudge, err := wire.Decode[wire.Nudge](m.Data)
	if err != nil {
		return err
	}
	current := l.follow(nudge.Epoch, now)
	l.wanted = l.wanted || current
	return nil
}

// hearProbe answers a probe, and reports soon like after a nudge.
func (l *link) hearProbe(m *nats.Msg, now time.Time) error {
	probe, err := wire.Decode[wire.Probe](m.Data)
	if err != nil {
		return err
	}
	current := l.follow(probe.Epoch, now)
	l.wanted = l.wanted || current
	l.w.mu.Lock()
	epoch := l.w.book.Epoch()
	l.w.mu.Unlock()
	return m.Respond(wire.Encode(wire.ProbeAnswer{Epoch: epoch, Worker: l.w.cfg.ID}))
}

// follow follows the leader of an epoch that spoke, unless it is an old one, and
// reports whether that is the leader followed now.
func (l *link) follow(epoch uint64, now time.Time) bool {
	l.w.mu.Lock()
	newer := l.w.book.Follow(epoch)
	current := epoch > 0 && epoch == l.w.book.Epoch()
	if newer {
		l.w.answered = false
	}
	l.w.mu.Unlock()
	switch {
	case newer:
		l.w.cfg.Logger.Debug("Following a leader", "epoch", epoch)
		l.sent, l.alone, l.collectBy = nil, false, time.Time{}
		l.wanted, l.notBefore, l.every = true, now, l.w.pace.every
	case current && l.alone:
		l.alone, l.retry = false, l.w.pace.retryFirst
		l.resendAt = now
	}
	return current
}

// hearReceipt takes the answer to the report under way.
func (l *link) hearReceipt(m *nats.Msg, now time.Time) error {
	receipt, err := wire.Decode[wire.Receipt](m.Data)
	if err != nil {
		return err
	}
	orders, err := l.w.receive(receipt)
	if err != nil {
		return err
	}
	l.sent, l.alone = nil, false
	l.w.cfg.ReportDone(now.Sub(l.sentAt))
	if orders.Refused != "" {
		l.refused = max(l.w.pace.retryFirst, min(2*l.refused, l.w.pace.retryMost))
		l.notBefore, l.wanted = now.Add(l.refused), true
		l.complain("refused", "Leader refuses the report", "epoch", receipt.Epoch, "error", orders.Refused)
		return nil
	}
	l.refused = 0
	if orders.Every > 0 {
		l.every = max(l.w.pace.spacing, min(orders.Every, l.w.pace.everyAtMost))
		l.dueAt = earlier(l.dueAt, now.Add(l.every))
	}
	for _, err := range orders.Ignored {
		l.complain("order", "Leader's order ignored", "epoch", receipt.Epoch, "error", err)
	}
	return nil
}

// receive enters a receipt into the book and carries out its orders.
func (w *Worker) receive(receipt wire.Receipt) (session.Orders, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	orders, err := w.book.Receive(receipt)
	if err != nil {
		return orders, err
	}
	w.answered = orders.Refused == ""
	for _, ended := range orders.Ended {
		if t := w.tasks[ended.Job]; t != nil {
			delete(w.tasks, ended.Job)
			t.spares = ended.Blobs
			t.cancel()
			w.ask(t)
		}
	}
	for _, o := range orders.Open {
		w.begin(o)
	}
	w.work.Broadcast()
	return orders, nil
}

func (l *link) setAnswered(answered bool) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.w.answered = answered
}

package executor

import (
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// hear converts a message to an input of the session. It returns a tick for a message that must be
// ignored.
func (l *link) hear(m *nats.Msg) session.Input {
	in, err := l.read(m)
	if err != nil {
		l.limits.warn(m.Sub.Subject, "Message refused", "subject", m.Subject, "error", err)
	}
	if in == nil {
		return session.Tick{}
	}
	return in
}

func (l *link) read(m *nats.Msg) (session.Input, error) {
	answer, isAnswer := strings.CutPrefix(m.Subject, l.inbox+".")
	switch {
	case isAnswer:
		return l.readAnswer(answer, m)
	case m.Subject == l.w.cfg.Subjects.Beacon():
		return readBeacon(m)
	case m.Subject == l.w.cfg.Subjects.Probe(l.w.cfg.ID):
		return l.readProbe(m)
	}
	return readNudge(m)
}

// readAnswer reads the reply to a report, or to a request for the leader.
func (l *link) readAnswer(to string, m *nats.Msg) (session.Input, error) {
	nobody := m.Header.Get("Status") == "503" // NATS replies with status 503 if the subject has no responders
	if to == answerTo {
		if nobody {
			return nil, nil // the reply is ignored, because a leader's beacon will arrive, or the session will ask again
		}
		info, err := wire.Decode[wire.LeaderInfo](m.Data)
		if err != nil {
			return nil, err
		}
		return session.LeaderHeard{Epoch: info.Epoch, Storage: info.Storage}, nil
	}
	if to != strconv.FormatUint(l.report.exchange, 10) {
		return nil, nil // the reply belongs to an earlier report
	}
	if nobody {
		return session.NoResponders{Exchange: l.report.exchange}, nil
	}
	receipt, err := wire.Decode[wire.Receipt](m.Data)
	if err != nil {
		return nil, err
	}
	return session.ReceiptHeard{Exchange: l.report.exchange, Receipt: receipt}, nil
}

func readBeacon(m *nats.Msg) (session.Input, error) {
	beacon, err := wire.Decode[wire.Beacon](m.Data)
	if err != nil {
		return nil, err
	}
	return session.LeaderHeard{Epoch: beacon.Epoch, Storage: beacon.Storage}, nil
}

func readNudge(m *nats.Msg) (session.Input, error) {
	nudge, err := wire.Decode[wire.Nudge](m.Data)
	if err != nil {
		return nil, err
	}
	return session.Nudged{Epoch: nudge.Epoch, Storage: nudge.Storage}, nil
}

// readProbe replies to a leader that probes whether this process is alive. The session treats a
// probe as a nudge.
func (l *link) readProbe(m *nats.Msg) (session.Input, error) {
	probe, err := wire.Decode[wire.Probe](m.Data)
	if err != nil {
		return nil, err
	}
	l.w.mu.Lock()
	epoch := max(l.w.session.Epoch(), probe.Epoch)
	l.w.mu.Unlock()
	return session.Nudged{Epoch: probe.Epoch, Storage: probe.Storage}, m.Respond(wire.Encode(wire.ProbeAnswer{Epoch: epoch, Worker: l.w.cfg.ID}))
}

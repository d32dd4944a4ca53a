package election

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// leader is what is known of one who leads or led last.
type leader struct {
	epoch   uint64
	worker  string
	leaseID string
	workers int // in the cluster; 0: unknown

	since     time.Duration // first heard of
	sign      time.Duration // last sign of life; since, if there was none
	answered  bool          // gave a sign of life
	resigned  bool          // said itself that it has stopped
	suspected bool          // the others were told by somebody
	pinged    time.Duration // when the last ping was sent
	next      time.Duration // when the next is due
	silence   time.Duration // waited for answers to pings since the last sign of life
}

// news is what an event means to one that does not lead.
type news int

const (
	nothing news = iota
	hint         // reason to look again, for one who is not looking already
	turn         // somebody else leads, or this worker is asked to
)

// observe takes in an event.
func (m *Machine) observe(event Event) news {
	switch ev := event.(type) {
	case BeaconHeard:
		return m.observeBeacon(ev.Beacon)
	case SuspicionHeard:
		return m.observeSuspicion(ev.Suspect)
	case OfferReceived:
		if ev.Epoch < m.leader.epoch {
			return nothing
		}
		m.offer = &ev.Offer
		return turn
	case Disconnected:
		if m.linked {
			m.log.Warn("Lost the connection: following blindly", "epoch", m.leader.epoch)
		}
		m.linked = false
		return hint
	case Reconnected:
		if !m.linked {
			m.log.Info("Connected again", "epoch", m.leader.epoch)
		}
		m.linked = true
		m.stableFrom = m.now + m.cfg.StableFor
		m.leader.silence = 0
		m.leader.next = m.stableFrom
		return hint
	}
	return nothing
}

func (m *Machine) observeBeacon(b wire.Beacon) news {
	switch {
	case b.Worker == m.cfg.ID: // heard late, if this process no longer leads
		return nothing
	case b.Epoch < m.leader.epoch: // of one deposed that has not noticed
		return nothing
	}
	heard := nothing
	if !m.known || b.Epoch > m.leader.epoch {
		m.adopt(leader{epoch: b.Epoch, worker: b.Worker, leaseID: b.LeaseID})
		m.leader.next = m.now + m.pingInterval()
		heard = turn
	}
	m.leader.workers = b.Workers
	m.signOfLife()
	return heard
}

func (m *Machine) observeSuspicion(s wire.Suspect) news {
	switch {
	case s.Worker == m.cfg.ID:
		return nothing
	case s.Epoch == 0:
		m.others = true
		return nothing
	case !m.known || s.Epoch != m.leader.epoch:
		return nothing
	}
	m.leader.suspected = true
	m.leader.resigned = m.leader.resigned || s.Worker == m.leader.worker
	m.leader.next = min(m.leader.next, max(m.now, m.leader.pinged+pingGap))
	return hint
}

// adopt begins to follow a leader.
func (m *Machine) adopt(l leader) {
	l.since, l.sign = m.now, m.now
	l.workers = m.leader.workers
	m.leader, m.known = l, true
	m.log.Info("Following", "epoch", l.epoch, "leader", l.worker)
}

// signOfLife notes that the leader lives.
func (m *Machine) signOfLife() {
	m.leader.sign, m.leader.answered = m.now, true
	m.leader.silence = 0
	m.leader.suspected, m.leader.resigned = false, false
	m.held, m.refused, m.failures = 0, "", 0
}

// linkedSince reports whether what was not heard since the instant is evidence.
func (m *Machine) linkedSince(sent time.Duration) bool { return m.linked && sent >= m.stableFrom }

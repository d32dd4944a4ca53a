package machine

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// leader describes the current leader, or the last leader if there is none.
type leader struct {
	epoch   uint64
	worker  string
	leaseID string
	workers int // number of workers in the cluster; 0 if unknown

	since     time.Duration // time at which this process first heard of the leader
	lastSign  time.Duration // time of the leader's last sign of life; equal to since if there was none
	answered  bool          // the leader has given a sign of life
	ponged    bool          // the leader has answered a ping in time, so its network is fast enough for pings
	resigned  bool          // the leader has announced that it has stopped
	suspected bool          // a process has sent a suspicion about the leader
	failed    bool          // the leader has announced that its term has failed
	seemsDead bool          // this process considers the leader dead, and waits until the lease is free
	pinged    time.Duration // time at which the last ping was sent
	nextPing  time.Duration // time at which the next ping is due
	silence   time.Duration // time spent waiting for answers to pings since lastSign
	late      bool          // one of these pings ended much later than its timeout, so this machine is overloaded

	leavesUntil time.Duration // time until which a leader that has announced its end may hand over, and need not answer pings
}

// leavesWithin is how long followers wait for a leader that has announced its end to hand over or
// release the lease. A handover and a release each take a few storage calls, which leavesWithin
// must cover.
const leavesWithin = 500 * time.Millisecond

// effect is how an event changes the plans of a process that does not lead.
type effect int

const (
	noEffect      effect = iota
	recheck              // the process should ping the leader now, even if it is waiting
	leaderChanged        // there is another leader, or this worker was offered the lease
)

// observe records an event's information about the leader and the connection.
func (m *Machine) observe(event Event) effect {
	switch ev := event.(type) {
	case BeaconHeard:
		return m.observeBeacon(ev.Beacon)
	case SuspicionHeard:
		return m.observeSuspicion(ev.Suspicion)
	case OfferReceived:
		if ev.Epoch < m.leader.epoch {
			return noEffect
		}
		m.offer = &ev.Offer
		return leaderChanged
	case Disconnected:
		if m.connection.up {
			m.log.Warn("Disconnected from peers", "epoch", m.leader.epoch)
		}
		m.connection.up = false
		return recheck
	case Reconnected:
		if !m.connection.up {
			m.log.Info("Reconnected to peers", "epoch", m.leader.epoch)
		}
		m.connection = connection{up: true, stableFrom: m.now + m.cfg.StableFor}
		m.leader.silence = 0
		m.leader.nextPing = m.connection.stableFrom
		return recheck
	}
	return noEffect
}

func (m *Machine) observeBeacon(b wire.Beacon) effect {
	switch {
	case !wire.SameStorage(b.Storage, m.cfg.Storage):
		m.otherStorage(b)
		return noEffect
	case b.Worker == m.cfg.ID: // this process has sent the beacon itself, and may no longer lead
		return noEffect
	case b.Epoch < m.leader.epoch: // the sender was deposed but has not noticed
		return noEffect
	}
	effect := noEffect
	if !m.known || b.Epoch > m.leader.epoch {
		m.adopt(leader{epoch: b.Epoch, worker: b.Worker, leaseID: b.LeaseID})
		m.leader.nextPing = m.now + m.pingInterval()
		effect = leaderChanged
	}
	if m.leader.seemsDead {
		effect = recheck
	}
	m.leader.workers = b.Workers
	m.signOfLife()
	m.termLasts()
	if b.Failed && !m.leader.failed {
		m.leader.failed = true
		m.termFailed()
	}
	if b.Leaving {
		m.leader.leavesUntil = m.now + leavesWithin
		m.leader.nextPing = m.leader.leavesUntil
		effect = max(effect, recheck)
	}
	return effect
}

// otherStorageEvery is the shortest time between two log lines about leaders on another storage.
const otherStorageEvery = 30 * time.Second

// otherStorage logs that a beacon of a leader on another storage was received.
func (m *Machine) otherStorage(b wire.Beacon) {
	if m.logOtherFrom <= m.now {
		m.logOtherFrom = m.now + otherStorageEvery
		m.log.Warn("Leader ignored", "leader", b.Worker, "epoch", b.Epoch,
			"error", wire.CheckStorage("leader "+b.Worker, b.Storage, "worker "+m.cfg.ID, m.cfg.Storage))
	}
}

func (m *Machine) observeSuspicion(s wire.Suspicion) effect {
	switch {
	case s.Worker == m.cfg.ID:
		return noEffect
	case s.Epoch == 0:
		m.search.othersRead = true
		return noEffect
	case !m.known || s.Epoch != m.leader.epoch:
		return noEffect
	}
	m.leader.suspected = true
	if s.Worker == m.leader.worker {
		m.leader.resigned, m.leader.leavesUntil = true, 0
	}
	m.leader.nextPing = min(m.leader.nextPing, max(m.now, m.leader.pinged+pingGap))
	return recheck
}

// adopt sets the leader that this process follows.
func (m *Machine) adopt(l leader) {
	l.since, l.lastSign = m.now, m.now
	l.workers = m.leader.workers
	m.leader, m.known = l, true
	m.log.Info("Following", "epoch", l.epoch, "leader", l.worker)
}

func (m *Machine) signOfLife() {
	m.leader.lastSign, m.leader.answered = m.now, true
	m.leader.silence, m.leader.late = 0, false
	m.leader.suspected, m.leader.resigned, m.leader.seemsDead = false, false, false
	m.streaks.refused, m.streaks.refusedBy, m.streaks.storage = 0, "", 0
}

// connectedSince reports whether the connection has been stable since a message was sent, so that a
// missing answer is evidence against the receiver.
func (m *Machine) connectedSince(sent time.Duration) bool {
	return m.connection.up && sent >= m.connection.stableFrom
}

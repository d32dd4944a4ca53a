package machine

import (
	"errors"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// handOver transfers the lease to the successor, or releases the lease and announces the release.
// If a step of the handover fails, the other processes notice a little later that no process leads.
func (m *Machine) handOver() {
	t := &m.term
	successor := t.returned.Successor
	switch {
	case errors.Is(t.ended, errLost) || m.leader.epoch > t.record.Epoch:
		m.coolDown()
	case t.ended == nil && successor != "" && successor != m.cfg.ID:
		t.offer = wire.Offer{Epoch: t.record.Epoch, LeaseID: newLeaseID(m.cfg.Rand)}
		m.do(Transfer{m.ask(transferring, m.cfg.CallTimeout), t.record, t.offer.LeaseID})
	default:
		m.release()
	}
}

func (m *Machine) onTransferred(err error) {
	if err != nil {
		m.handoverFailed(err)
		return
	}
	m.storageWorked()
	t := &m.term
	t.record.LeaseID = t.offer.LeaseID
	// The timeout of an offer is PingTimeout, because a worker acknowledges an offer as fast as it
	// answers a ping.
	m.do(Offer{m.ask(offering, m.cfg.PingTimeout), t.returned.Successor, t.offer})
}

func (m *Machine) onOffered(err error) {
	if err != nil {
		m.handoverFailed(err)
		return
	}
	m.log.Info("Handed over", "epoch", m.term.record.Epoch, "successor", m.term.returned.Successor)
	m.coolDown()
}

// handoverFailed releases the lease, so that any process can acquire it.
func (m *Machine) handoverFailed(err error) {
	m.log.Warn("Could not hand over: releasing the lease", "epoch", m.term.record.Epoch,
		"successor", m.term.returned.Successor, "error", err)
	m.release()
}

func (m *Machine) release() {
	m.do(Release{m.ask(releasing, m.cfg.CallTimeout), m.term.record})
}

func (m *Machine) onReleased(err error) {
	epoch := m.term.record.Epoch
	if err != nil {
		m.log.Info("Could not release the lease", "epoch", epoch, "error", err)
	} else {
		m.storageWorked()
		m.do(SendSuspicion{epoch})
	}
	m.coolDown()
}

// coolDown starts the cooldown, during which this process does not claim the lease. The cooldown
// doubles with each consecutive term that failed.
func (m *Machine) coolDown() {
	cooldown := min(m.cfg.Cooldown<<min(m.streaks.terms, 10), max(maxCooldown, m.cfg.Cooldown))
	m.cooldownUntil = m.now + cooldown
	if m.leader.epoch == m.term.record.Epoch {
		m.known = false
	}
	m.follow()
}

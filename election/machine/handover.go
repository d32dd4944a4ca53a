package machine

import (
	"errors"
	"time"

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
	case t.ended == nil && !t.failed && successor != "" && successor != m.cfg.ID:
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
// doubles with each consecutive term that failed. If the failed term was a term of this process, the process
// also declines offers. An offer that was declined starts no cooldown.
func (m *Machine) coolDown() {
	if t := &m.term; t.returned != nil {
		m.cooldownUntil = max(m.cooldownUntil, m.now+m.cooldown(m.streaks.terms))
		if t.failed {
			m.declinesUntil = m.cooldownUntil
		}
	}
	if m.leader.epoch == m.term.record.Epoch {
		m.known = false
	}
	m.follow()
}

// cooldown returns the cooldown after a number of consecutive terms that failed.
func (m *Machine) cooldown(failed int) time.Duration {
	return min(m.cfg.Cooldown<<min(failed, 10), max(maxCooldown, m.cfg.Cooldown))
}

// termFailed counts a failed term of another process. Another process may succeed where the first
// one has failed, for example because only one machine cannot reach storage. If a second term in a
// row fails, no process claims the lease for a while, because all of them would probably fail: the
// pause doubles with each further term, so that a cluster whose storage is broken has few terms.
func (m *Machine) termFailed() {
	m.streaks.terms++
	if failed := m.streaks.terms; failed > 1 {
		pause := m.cooldown(failed - 2)
		m.cooldownUntil = max(m.cooldownUntil, m.now+pause/2+m.random(pause/2))
	}
}

// termLasts ends the streak of failed terms if the current term has lasted for long enough.
func (m *Machine) termLasts() {
	if m.now-m.leader.since > maxCooldown {
		m.streaks.terms = 0
	}
}

// declineOffer releases an offered lease, so that another process can acquire it at once. A process
// whose own last term has failed would probably fail again.
func (m *Machine) declineOffer() {
	m.log.Info("Offer of the lease declined, because the last term of this process failed", "epoch", m.offer.Epoch)
	m.term = termState{record: Record{Epoch: m.offer.Epoch, LeaseID: m.offer.LeaseID}}
	if m.leader.epoch == m.offer.Epoch {
		m.term.record.Holder = m.leader.worker
	}
	m.offer = nil
	m.release()
}

package election

import (
	"errors"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// passOn hands the lease to the successor, or else frees it and says so. Whatever
// fails here, the others find out by themselves a little later.
func (m *Machine) passOn() {
	r := &m.reign
	successor := r.returned.Successor
	switch {
	case errors.Is(r.ended, errLost) || m.leader.epoch > r.record.Epoch:
		m.standAside()
	case r.ended == nil && successor != "" && successor != m.cfg.ID:
		r.offer = wire.Offer{Epoch: r.record.Epoch, LeaseID: newLeaseID(m.cfg.Rand)}
		m.do(Transfer{m.ask(transferring, m.cfg.CallTimeout), r.record, r.offer.LeaseID})
	default:
		m.release()
	}
}

func (m *Machine) transferred(err error) {
	if err != nil {
		m.keep(err)
		return
	}
	m.recovered()
	r := &m.reign
	r.record.LeaseID = r.offer.LeaseID
	// A process takes its offer within the time that it would take for a ping.
	m.do(Offer{m.ask(offering, m.cfg.PingTimeout), r.returned.Successor, r.offer})
}

func (m *Machine) offered(err error) {
	if err != nil {
		m.keep(err)
		return
	}
	m.log.Info("Handed over", "epoch", m.reign.record.Epoch, "successor", m.reign.returned.Successor)
	m.standAside()
}

// keep frees the lease for whoever comes first, where handing over failed.
func (m *Machine) keep(err error) {
	m.log.Warn("Could not hand over: freeing the lease", "epoch", m.reign.record.Epoch,
		"successor", m.reign.returned.Successor, "error", err)
	m.release()
}

func (m *Machine) release() {
	m.do(Release{m.ask(releasing, m.cfg.CallTimeout), m.reign.record})
}

func (m *Machine) released(err error) {
	epoch := m.reign.record.Epoch
	if err != nil {
		m.log.Info("Could not free the lease", "epoch", epoch, "error", err)
	} else {
		m.recovered()
		m.do(SendSuspicion{epoch})
	}
	m.standAside()
}

// standAside leaves leading to others for a while.
func (m *Machine) standAside() {
	aside := min(m.cfg.Cooldown<<min(m.failed, 10), max(maxCooldown, m.cfg.Cooldown))
	m.aside = m.now + aside
	if m.leader.epoch == m.reign.record.Epoch {
		m.known = false
	}
	m.follow()
}

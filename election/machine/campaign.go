package machine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// candidacy describes an attempt to become the leader.
type candidacy struct {
	cause    Cause
	epoch    uint64        // epoch of the leader to replace
	worker   string        // worker ID of the leader to replace
	leaseID  string        // lease ID of the leader to replace
	replaces string        // lease ID that the claim replaces; empty for a claim of a free lease
	lastSign time.Duration // time of the leader's last sign of life; equal to decided if the leader was not checked
	decided  time.Duration // time at which the process decided to become the leader
	claim    Claim         // the claim of the lease; set when the campaign begins
}

// acceptOffer claims the lease that a stopping leader has offered to this worker. The offered lease
// is claimed without a random wait, because only this worker knows the lease ID.
func (m *Machine) acceptOffer() {
	c := candidacy{
		cause: Handover, epoch: m.offer.Epoch, leaseID: m.offer.LeaseID, replaces: m.offer.LeaseID,
		lastSign: m.now, decided: m.now,
	}
	if c.epoch == m.leader.epoch {
		c.worker = m.leader.worker
	}
	m.offer = nil
	m.campaign(c)
}

// prepare waits for a random time, so that few processes claim the lease at the same time. The process that was the
// first to suspect the leader does not wait, because the others have just been told to check the leader. The wait
// of prepare lasts at least until the end of the cooldown.
func (m *Machine) prepare(c candidacy, first bool) {
	m.candidacy = c
	moment := m.random(min(m.cfg.Jitter*time.Duration(m.followers()), maxMoment))
	if first {
		moment = 0
	}
	m.wait(confirming, max(m.now+moment, m.cooldownUntil))
}

// confirm pings the leader once more before the campaign. It sends no ping if the leader has been
// silent for silentAfter, because another timeout would only delay the takeover.
func (m *Machine) confirm() {
	if m.leader.silence >= m.silentAfter() || m.candidacy.replaces == "" {
		m.campaign(m.candidacy)
		return
	}
	m.ping()
}

func (m *Machine) onConfirmed(err error) {
	if errors.Is(err, ErrNoResponders) && m.connectedSince(m.question.sent) {
		m.campaign(m.candidacy)
		return
	}
	m.onPong(err)
}

// stillWanted reports whether the reason for the candidacy still exists.
func (m *Machine) stillWanted() bool {
	c := &m.candidacy
	return (m.connection.up || m.cfg.Exclusive) && m.offer == nil && m.leader.epoch <= c.epoch && m.leader.lastSign <= c.decided
}

// campaign sends the claim of the lease.
func (m *Machine) campaign(c candidacy) {
	c.claim = Claim{Holder: m.cfg.ID, LeaseID: newLeaseID(m.cfg.Rand), Replaces: c.replaces}
	m.candidacy = c
	m.acquire()
}

func (m *Machine) acquire() {
	m.do(Acquire{m.ask(claiming, m.cfg.CallTimeout), m.candidacy.claim})
}

// onAcquired handles the outcome of a claim. While storage is unavailable, the process repeats the
// claim with the same lease ID, because an earlier try may have taken effect.
func (m *Machine) onAcquired(record Record, err error) {
	switch {
	case err == nil:
		m.storageWorked()
		m.streaks.storage = 0
		m.lead(record)
	case errors.Is(err, ErrHeld):
		m.storageWorked()
		m.log.Info("Another process holds the lease", "epoch", m.candidacy.epoch, "cause", m.candidacy.cause)
		m.streaks.storage = 0
		m.streaks.refused++
		m.streaks.refusedBy = m.candidacy.leaseID
		m.known = m.leader.epoch > m.candidacy.epoch
		m.follow()
	default:
		m.streaks.storage++
		m.storageFailed("acquire the lease", err)
		if m.stopping || !m.stillWanted() {
			m.follow()
			return
		}
		pause := backoff(m.streaks.storage)
		m.wait(claiming, m.now+pause/2+m.random(pause))
	}
}

// newLeaseID returns a random UUID (RFC 9562, version 4). Lease IDs must be unique but need not be
// secret, because a process with access to the lease's storage can do harm even without a lease ID.
// Any generator of lease IDs is sufficient, if each process has its own random seed.
func newLeaseID(random *rand.Rand) string {
	hi, lo := random.Uint64(), random.Uint64()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(0b11<<62) | 0b10<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&(1<<48-1))
}

package election

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// candidacy is the decision to try to lead.
type candidacy struct {
	cause   Cause
	epoch   uint64        // of the leader to replace
	worker  string        // that led it
	leaseID string        // under which it did
	over    string        // the lease ID to claim over; empty: only a free lease
	sign    time.Duration // the leader's last sign of life; decided, where none was looked for
	decided time.Duration
}

// takeUp stands for what this worker was offered. The lease was changed for it
// alone, so there is nothing to wait for.
func (m *Machine) takeUp() {
	c := candidacy{
		cause: Handover, epoch: m.offer.Epoch, leaseID: m.offer.LeaseID, over: m.offer.LeaseID,
		sign: m.now, decided: m.now,
	}
	if c.epoch == m.leader.epoch {
		c.worker = m.leader.worker
	}
	m.offer = nil
	m.stand(c)
}

// prepare waits a random moment, so that few try at once, and as long as this
// process stands aside.
func (m *Machine) prepare(c candidacy) {
	m.candidacy = c
	moment := m.chance(min(m.cfg.Jitter*time.Duration(m.followers()), maxMoment))
	m.wait(confirming, max(m.now+moment, m.aside))
}

// confirm looks again whether there is still reason to try. Of silence, another
// ping would take its time to say the same.
func (m *Machine) confirm() {
	if m.candidacy.cause == Silent || m.candidacy.over == "" {
		m.stand(m.candidacy)
		return
	}
	m.ping()
}

func (m *Machine) confirmed(err error) {
	if errors.Is(err, ErrNoResponders) && m.linkedSince(m.sent) {
		m.stand(m.candidacy)
		return
	}
	m.judge(err)
}

// stillWanted reports whether nothing was heard that speaks against the candidacy.
func (m *Machine) stillWanted() bool {
	c := &m.candidacy
	return m.linked && m.offer == nil && m.leader.epoch <= c.epoch && m.leader.sign <= c.decided
}

// stand tries to become the leader.
func (m *Machine) stand(c candidacy) {
	m.candidacy = c
	m.claim = Claim{Holder: m.cfg.ID, LeaseID: newLeaseID(m.cfg.Rand), Replaces: c.over}
	m.acquire()
}

func (m *Machine) acquire() {
	m.do(Acquire{m.ask(claiming, m.cfg.CallTimeout), m.claim})
}

// claimed goes on with the outcome of a claim. It makes the same claim again as
// long as storage cannot be reached: the first try may have had its effect.
func (m *Machine) claimed(record Record, err error) {
	switch {
	case err == nil:
		m.recovered()
		m.failures = 0
		m.lead(record)
	case errors.Is(err, ErrHeld):
		m.recovered()
		m.log.Info("Somebody else has the lease", "epoch", m.candidacy.epoch, "cause", m.candidacy.cause)
		m.failures = 0
		m.held++
		m.refused = m.candidacy.leaseID
		m.known = m.leader.epoch > m.candidacy.epoch
		m.follow()
	default:
		m.failures++
		m.complain("acquire the lease", err)
		if m.stopping || !m.stillWanted() {
			m.follow()
			return
		}
		again := backoff(m.failures)
		m.wait(claiming, m.now+again/2+m.chance(again))
	}
}

// newLeaseID returns a random UUID (RFC 9562, version 4). Lease IDs must differ
// and are no secret: who can read or write the lease's storage needs none. Any
// generator does whose seed is random, so that no two processes share it.
func newLeaseID(random *rand.Rand) string {
	hi, lo := random.Uint64(), random.Uint64()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(0b11<<62) | 0b10<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&(1<<48-1))
}

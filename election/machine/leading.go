package machine

import (
	"errors"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// termState is the state of a term, from acquiring the lease to releasing it.
type termState struct {
	record   Record
	deadline time.Duration // time until which the process trusts the last renewal
	cause    error         // reason why the term ends if the deadline passes
	ended    error         // reason why the term ended; nil while the term lasts
	awaiting bool          // a renewal waits for a beat of the leading loop
	misses   int           // number of consecutive renewals that failed
	returned *Returned     // result of the leading function; nil until the function returns
	failed   bool          // the leading function returned an error although the term had not ended
	offer    wire.Offer    // the offer to the successor
}

// lead starts a term with the record that the current candidacy's claim has acquired.
func (m *Machine) lead(record Record) {
	if m.leader.epoch > record.Epoch { // the process heard of a leader with a higher epoch before the answer to its claim came
		m.follow()
		return
	}
	c := &m.candidacy
	m.term = termState{record: record, deadline: m.question.sent + m.cfg.trustWindow(), cause: ErrExpired}
	m.leader = leader{
		epoch: record.Epoch, worker: m.cfg.ID, leaseID: record.LeaseID,
		workers: m.leader.workers, since: m.now, lastSign: m.now,
	}
	m.known, m.offer = false, nil
	m.streaks.refused, m.streaks.refusedBy = 0, ""
	if m.stopping {
		m.release()
		return
	}
	detect, elect := c.decided-c.lastSign, m.now-c.decided
	m.log.Info("Leading", "epoch", record.Epoch, "cause", c.cause, "predecessor", c.worker,
		"detect", detect, "elect", elect)
	m.do(Lead{
		Record: record, Cause: c.cause, Predecessor: c.worker, Workers: m.leader.workers, Detect: detect, Elect: elect,
		Deadline: m.term.deadline,
	})
	m.wait(leading, m.question.sent+m.cfg.RenewEvery)
}

// trusted reports whether the process may act as the leader.
func (m *Machine) trusted() bool {
	return m.state == leading && m.term.ended == nil && m.term.returned == nil
}

// setDeadline sets the time at which the term ends if no further renewal succeeds, and the cause
// for this case.
func (m *Machine) setDeadline(deadline time.Duration, cause error) {
	m.term.deadline, m.term.cause = deadline, cause
	m.do(SetDeadline{Deadline: deadline, Cause: cause})
}

// expire ends the term if its deadline has passed.
func (m *Machine) expire() {
	if m.trusted() && m.now >= m.term.deadline {
		m.depose(m.term.cause)
	}
}

// depose ends the term with a cause. Only the first call of depose sets the cause.
func (m *Machine) depose(cause error) {
	if m.trusted() {
		m.term.ended, m.term.awaiting = cause, false
		m.wake = never
		m.do(EndTerm{cause})
	}
}

// awaitBeat delays a due renewal until the next beat of the leading loop.
func (m *Machine) awaitBeat() {
	m.term.awaiting = true
	m.do(AwaitBeat{})
	m.setDeadline(m.term.deadline, errStalled)
}

// onBeat sends the renewal that waited for a beat.
func (m *Machine) onBeat() {
	if !m.trusted() || !m.term.awaiting {
		return
	}
	m.term.awaiting = false
	m.setDeadline(m.term.deadline, ErrExpired)
	m.do(Renew{m.ask(leading, m.cfg.CallTimeout), m.term.record})
}

func (m *Machine) onRenewed(err error) {
	t := &m.term
	switch {
	case !m.trusted():
	case err == nil:
		m.storageWorked()
		t.misses = 0
		m.setDeadline(m.question.sent+m.cfg.trustWindow(), ErrExpired)
		m.wait(leading, m.question.sent+m.cfg.RenewEvery)
	case errors.Is(err, ErrLost):
		m.depose(errLost)
	default:
		t.misses++
		m.storageFailed("renew the lease", err)
		m.wait(leading, m.now+min(backoff(t.misses), m.cfg.RenewEvery))
	}
	if t.returned != nil {
		m.handOver()
	}
}

// onReturned records that the leading function has returned. The lease is handed over once no
// renewal is in flight.
func (m *Machine) onReturned(r Returned) {
	if m.state != leading || m.term.returned != nil {
		return
	}
	epoch := m.term.record.Epoch
	switch {
	case m.term.ended != nil:
		m.log.Warn("Deposed", "epoch", epoch, "reason", m.term.ended)
	case r.Err == nil:
		m.streaks.terms = 0
		m.log.Info("Stepped down", "epoch", epoch)
	default:
		m.termLasts()
		m.streaks.terms++
		m.term.failed = true
		m.log.Error("Leading failed", "epoch", epoch, "error", r.Err)
	}
	m.term.returned, m.term.awaiting = &r, false
	m.offer = nil
	m.wake = never
	if !m.question.open {
		m.handOver()
	}
}

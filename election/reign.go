package election

import (
	"errors"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// reign is the time from the lease acquired to the lease passed on.
type reign struct {
	record   Record
	until    time.Duration // trust in the last renewal ends
	blame    error         // the cause, if it does
	ended    error         // why leadership ended; nil while it lasts
	awaiting bool          // a renewal waits for a sign that the loop turns
	misses   int           // renewals in a row that failed
	returned *Returned     // by the leading function
	offer    wire.Offer    // to the successor
}

// lead begins to lead with a lease that was acquired by the call under way.
func (m *Machine) lead(record Record) {
	if m.leader.epoch > record.Epoch { // overtaken before the answer came
		m.follow()
		return
	}
	c := &m.candidacy
	m.reign = reign{record: record, until: m.sent + m.cfg.window(), blame: errExpired}
	m.leader = leader{
		epoch: record.Epoch, worker: m.cfg.ID, leaseID: record.LeaseID,
		workers: m.leader.workers, since: m.now, sign: m.now,
	}
	m.known, m.offer = false, nil
	m.held, m.refused = 0, ""
	if m.stopping {
		m.release()
		return
	}
	detect, elect := c.decided-c.sign, m.now-c.decided
	m.log.Info("Leading", "epoch", record.Epoch, "cause", c.cause, "over", c.worker,
		"detect", detect, "elect", elect)
	m.do(Lead{
		Record: record, Cause: c.cause, Predecessor: c.worker, Detect: detect, Elect: elect,
		Deadline: m.reign.until,
	})
	m.wait(leading, m.sent+m.cfg.RenewEvery)
}

// trusted reports whether the process may act as the leader.
func (m *Machine) trusted() bool {
	return m.state == leading && m.reign.ended == nil && m.reign.returned == nil
}

// trust moves on when leadership ends by itself.
func (m *Machine) trust(until time.Duration, blame error) {
	m.reign.until, m.reign.blame = until, blame
	m.do(SetDeadline{Deadline: until, Cause: blame})
}

// expire ends leadership at its deadline.
func (m *Machine) expire() {
	if m.trusted() && m.now >= m.reign.until {
		m.depose(m.reign.blame)
	}
}

// depose ends leadership. Only the first cause counts.
func (m *Machine) depose(cause error) {
	if m.trusted() {
		m.reign.ended, m.reign.awaiting = cause, false
		m.wake = never
		m.do(EndTerm{cause})
	}
}

// awaitBeat has the renewal that is due wait for a sign that the loop turns.
func (m *Machine) awaitBeat() {
	m.reign.awaiting = true
	m.do(AwaitBeat{})
	m.trust(m.reign.until, errStalled)
}

// beat sends the renewal that waited for it.
func (m *Machine) beat() {
	if !m.trusted() || !m.reign.awaiting {
		return
	}
	m.reign.awaiting = false
	m.trust(m.reign.until, errExpired)
	m.do(Renew{m.ask(leading, m.cfg.CallTimeout), m.reign.record})
}

// renewed goes on with the outcome of a renewal.
func (m *Machine) renewed(err error) {
	r := &m.reign
	switch {
	case !m.trusted():
	case err == nil:
		m.recovered()
		r.misses = 0
		m.trust(m.sent+m.cfg.window(), errExpired)
		m.wait(leading, m.sent+m.cfg.RenewEvery)
	case errors.Is(err, ErrLost):
		m.depose(errLost)
	default:
		r.misses++
		m.complain("renew the lease", err)
		m.wait(leading, m.now+min(backoff(r.misses), m.cfg.RenewEvery))
	}
	if r.returned != nil {
		m.passOn()
	}
}

// returned notes that the leading function does not act any more. The lease is
// passed on once no renewal is under way.
func (m *Machine) returned(r Returned) {
	if m.state != leading || m.reign.returned != nil {
		return
	}
	epoch := m.reign.record.Epoch
	switch {
	case m.reign.ended != nil:
		m.log.Warn("Deposed", "epoch", epoch, "reason", m.reign.ended)
	case r.Err == nil:
		m.failed = 0
		m.log.Info("Stepped down", "epoch", epoch)
	default:
		m.failed++
		m.log.Error("Leading failed", "epoch", epoch, "error", r.Err)
	}
	m.reign.returned, m.reign.awaiting = &r, false
	m.offer = nil
	m.wake = never
	if m.asked == 0 {
		m.passOn()
	}
}

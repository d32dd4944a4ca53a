package election

import (
	"errors"
	"time"
)

// follow turns to what a process does that neither leads nor tries to, or ends
// it. An answer still to come is of no interest any more.
func (m *Machine) follow() {
	switch {
	case m.stopping:
		m.wait(stopped, never)
		m.do(Done{})
	case m.offer != nil:
		m.takeUp()
	case m.known:
		m.wait(following, m.leader.next)
	default:
		m.others, m.deferred = false, false
		m.wait(searching, m.whenToLook())
	}
	if !m.linked { // nobody could be asked until Reconnected is heard
		m.wake = never
	}
}

// whenToLook is when to read the record if nothing is heard until then.
func (m *Machine) whenToLook() time.Duration {
	wait := listen + m.chance(listen)
	if again := backoff(max(m.held-1, m.failures)); again > 0 {
		wait += again/2 + m.chance(again)
	}
	return max(m.now+wait, m.aside)
}

// postpone puts off reading once, where others are about to. One that looks finds a
// leader, whose beacon will be heard, or becomes it: that saves storage many reads.
func (m *Machine) postpone() {
	if m.others && !m.deferred {
		m.deferred = true
		m.wake = m.whenToLook()
	}
}

// look reads the record, since no beacon was heard.
func (m *Machine) look() {
	m.do(SendSuspicion{})
	m.do(Read{m.ask(searching, m.cfg.CallTimeout)})
}

// found goes on with what the record says.
func (m *Machine) found(record Record, err error) {
	if err != nil {
		m.failures++
		m.complain("read the lease's record", err)
		m.follow()
		return
	}
	m.recovered()
	m.failures = 0
	found := leader{epoch: record.Epoch, worker: record.Holder, leaseID: record.LeaseID, next: m.now}
	if record.Held {
		m.adopt(found)
		m.follow()
		return
	}
	found.workers = m.leader.workers
	m.leader = found
	cause := Free
	switch {
	case record.Epoch == 0:
		cause = First
	case m.wasRefused(record.LeaseID):
		cause = Expired
	}
	m.stand(candidacy{
		cause: cause, epoch: record.Epoch, worker: record.Holder, leaseID: record.LeaseID,
		sign: m.now, decided: m.now,
	})
}

// wasRefused reports whether the last claim failed though the lease is still held
// under that ID. If the next one succeeds, it is because the lease has expired.
func (m *Machine) wasRefused(leaseID string) bool { return m.held > 0 && m.refused == leaseID }

// ping asks the leader for a sign of life, in the present state.
func (m *Machine) ping() {
	m.leader.pinged = m.now
	m.do(Ping{m.ask(m.state, m.cfg.PingTimeout), m.leader.epoch})
}

// judge decides what the outcome of a ping means.
func (m *Machine) judge(err error) {
	l := &m.leader
	l.next = m.now + pingGap
	switch {
	case err == nil:
		m.signOfLife()
		l.next = m.now + m.pingInterval()

	case !m.linkedSince(m.sent):
		l.silence = 0
		l.next = max(l.next, m.stableFrom)

	case errors.Is(err, ErrNoResponders):
		if !l.answered && m.now-l.since < settle { // it may have begun just now
			break
		}
		m.giveUp(Died)
		return

	default:
		// A process that slept while it pinged has waited no longer than the ping may
		// take.
		l.silence += min(m.now-m.sent, m.cfg.PingTimeout) + pingGap
		if l.silence < m.cfg.SilentAfter {
			break
		}
		if l.answered {
			m.giveUp(Silent)
		} else { // it may be this process that is cut off
			m.giveUp(Expired)
		}
		return
	}
	m.follow()
}

// giveUp decides to replace the leader, and tells the others to look. Expired
// means to claim the lease only if it has expired.
func (m *Machine) giveUp(cause Cause) {
	l := &m.leader
	c := candidacy{
		cause: cause, epoch: l.epoch, worker: l.worker, leaseID: l.leaseID, over: l.leaseID,
		sign: l.sign, decided: m.now,
	}
	switch {
	case cause == Expired:
		c.over = ""
	case m.wasRefused(l.leaseID):
		c.cause = Expired
	case l.resigned:
		c.cause = Free
	}
	if c.over != "" && !l.suspected {
		l.suspected = true
		m.do(SendSuspicion{l.epoch})
	}
	m.log.Info("The leader seems gone", "epoch", l.epoch, "leader", l.worker, "cause", c.cause,
		"detect", c.decided-c.sign)
	m.prepare(c)
}

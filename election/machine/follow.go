package machine

import (
	"errors"
	"time"
)

// follow chooses the next state of a process that does not lead. A process that was told to stop is
// done; a process with an offer accepts or declines the offer; any other process follows the known leader or
// searches for a leader. follow invalidates the open question, so its answer will be ignored.
func (m *Machine) follow() {
	switch {
	case m.stopping:
		m.wait(stopped, never)
		m.do(Done{})
	case m.offer != nil && m.now < m.declinesUntil:
		m.declineOffer()
	case m.offer != nil:
		m.acceptOffer()
	case m.known && !m.watches():
		m.wait(following, m.leader.nextPing)
	default:
		m.search = search{}
		m.wait(searching, m.nextRead())
	}
	if !m.connection.up && !m.watches() { // without a connection the process waits for Reconnected
		m.wake = never
	}
}

// watches reports whether the process must poll the record to learn when the lease is free. In an
// exclusive election the process polls if it cannot ping the leader, or if the leader seems dead.
func (m *Machine) watches() bool {
	return m.cfg.Exclusive && (!m.connection.up || m.known && m.leader.seemsDead)
}

// nextRead returns the time at which the process reads the record if no beacon comes earlier.
func (m *Machine) nextRead() time.Duration {
	if m.known { // the process polls the record
		return m.now + m.cfg.WatchEvery/2 + m.random(m.cfg.WatchEvery)
	}
	wait := listenFor + m.random(listenFor)
	if pause := backoff(max(m.streaks.refused-1, m.streaks.storage)); pause > 0 {
		wait += pause/2 + m.random(pause)
	}
	return max(m.now+wait, m.cooldownUntil)
}

// deferRead postpones this process's read of the record once, if another process is about to read
// it. The process that reads the record either finds a leader, whose beacon all processes will
// hear, or becomes the leader. Most processes therefore need not call storage.
func (m *Machine) deferRead() {
	if m.search.othersRead && !m.search.deferred {
		m.search.deferred = true
		m.wake = m.nextRead()
	}
}

// readRecord reads the record because no beacon has come.
func (m *Machine) readRecord() {
	if !m.known && m.connection.up {
		m.do(SendSuspicion{})
	}
	m.do(Read{m.ask(searching, m.cfg.CallTimeout)})
}

// onRecord follows the leader that the record names, or campaigns for a free lease.
func (m *Machine) onRecord(record Record, err error) {
	if err != nil {
		m.streaks.storage++
		m.storageFailed("read the lease record", err)
		m.follow()
		return
	}
	m.storageWorked()
	m.streaks.storage = 0
	found := leader{epoch: record.Epoch, worker: record.Holder, leaseID: record.LeaseID, nextPing: m.now}
	if record.Held {
		if !m.known || record.Epoch != m.leader.epoch {
			m.adopt(found)
		}
		m.follow()
		return
	}
	cause := Free
	switch {
	case record.Epoch == 0:
		cause = First
	case m.wasRefused(record.LeaseID), m.leader.seemsDead && record.LeaseID == m.leader.leaseID:
		cause = Expired
	}
	found.workers = m.leader.workers
	m.leader = found
	m.campaign(candidacy{
		cause: cause, epoch: record.Epoch, worker: record.Holder, leaseID: record.LeaseID,
		lastSign: m.now, decided: m.now,
	})
}

// wasRefused reports whether the last claim was refused because the lease was held under leaseID.
// If a later claim of the same lease succeeds, the lease has expired.
func (m *Machine) wasRefused(leaseID string) bool {
	return m.streaks.refused > 0 && m.streaks.refusedBy == leaseID
}

// ping sends a ping to the leader. The machine stays in its current state during the ping.
func (m *Machine) ping() {
	m.leader.pinged = m.now
	m.do(Ping{m.ask(m.state, m.cfg.PingTimeout), m.leader.epoch})
}

func (m *Machine) onPong(err error) {
	l := &m.leader
	l.nextPing = m.now + pingGap
	switch {
	case err == nil:
		m.signOfLife()
		l.ponged = true
		l.nextPing = m.now + m.pingInterval()

	case !m.connectedSince(m.question.sent):
		l.silence = 0
		l.nextPing = max(l.nextPing, m.connection.stableFrom)

	case errors.Is(err, ErrNoResponders) && m.now < l.leavesUntil:
		l.nextPing = l.leavesUntil

	case errors.Is(err, ErrNoResponders):
		if !l.answered && m.now-l.since < startGrace { // the leader may have started to lead only a moment ago
			break
		}
		m.suspectLeader(Died)
		return

	default:
		// At most the ping's timeout counts as time without an answer, because this process may
		// have been suspended during the ping.
		l.silence += min(m.now-max(m.question.sent, l.lastSign), m.cfg.PingTimeout) + pingGap
		l.late = l.late || m.now-m.question.sent > m.cfg.PingTimeout+mostLate
		if l.silence < m.silentAfter() {
			break
		}
		if l.answered {
			m.suspectLeader(Silent)
		} else { // this process itself may have lost its connection
			m.suspectLeader(Expired)
		}
		return
	}
	m.follow()
}

const (
	// leastSilence is the time for which a busy machine may keep a process from answering.
	leastSilence = 1200 * time.Millisecond
	// mostLate is the time by which a ping may end later than its timeout on a machine that is not overloaded.
	mostLate = 50 * time.Millisecond
)

// silentAfter returns the time without an answer to pings after which the leader counts as silent. A leader that
// has answered a ping in time is expected to answer again, even on a busy machine. A leader that never has may
// be so distant that each answer comes too late, and only its beacons prove that it lives. If this process itself
// was delayed, the leader may be delayed too.
func (m *Machine) silentAfter() time.Duration {
	if m.leader.ponged && !m.leader.late {
		return min(m.cfg.SilentAfter, max(m.cfg.SilentAfter*3/5, leastSilence))
	}
	return m.cfg.SilentAfter
}

// suspectLeader starts a candidacy to replace the leader, and tells the other processes to check
// the leader too. If the cause is Expired, the process claims the lease only after the lease has
// expired.
func (m *Machine) suspectLeader(cause Cause) {
	l := &m.leader
	c := candidacy{
		cause: cause, epoch: l.epoch, worker: l.worker, leaseID: l.leaseID, replaces: l.leaseID,
		lastSign: l.lastSign, decided: m.now,
	}
	switch {
	case m.cfg.Exclusive && l.resigned:
		c.cause, c.replaces = Free, ""
	case m.cfg.Exclusive:
		m.log.Info("Leader seems dead: waiting until its lease is free", "epoch", l.epoch, "leader", l.worker,
			"cause", c.cause, "detect", c.decided-c.lastSign)
		l.seemsDead = true
		m.follow()
		return
	case cause == Expired:
		c.replaces = ""
	case m.wasRefused(l.leaseID):
		c.cause = Expired
	case l.resigned:
		c.cause = Free
	}
	first := c.replaces != "" && !l.suspected
	if first {
		l.suspected = true
		m.do(SendSuspicion{l.epoch})
	}
	m.log.Info("Leader seems dead", "epoch", l.epoch, "leader", l.worker, "cause", c.cause,
		"detect", c.decided-c.lastSign)
	m.prepare(c, first)
}

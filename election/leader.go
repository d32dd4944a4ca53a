package election

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// leader is what is known of one who leads or led last.
type leader struct {
	epoch   uint64
	worker  string
	leaseID string
	workers int // in the cluster; 0: unknown

	since     time.Time     // first heard of
	sign      time.Time     // last sign of life; since, if there was none
	answered  bool          // gave a sign of life
	resigned  bool          // said itself that it has stopped
	suspected bool          // the others were told by somebody
	pinged    time.Time     // when the last ping was sent
	next      time.Time     // when the next is due
	silence   time.Duration // waited for answers to pings since the last sign of life
}

// observe takes in an event and reports whether it changes what to do next.
func (e *elector) observe(event Event) bool {
	now := time.Now()
	switch ev := event.(type) {
	case BeaconHeard:
		return e.observeBeacon(ev.Beacon, now)
	case SuspicionHeard:
		return e.observeSuspicion(ev.Suspect, now)
	case OfferReceived:
		if ev.Epoch < e.leader.epoch {
			return false
		}
		e.offer = &ev.Offer
		return true
	case LinkLost:
		if e.linked {
			e.log.Warn("Lost the connection: following blindly", "epoch", e.leader.epoch)
		}
		e.linked = false
		return true
	case LinkRestored:
		if !e.linked {
			e.log.Info("Connected again", "epoch", e.leader.epoch)
		}
		e.linked = true
		e.stableFrom = now.Add(e.cfg.StableFor)
		e.leader.silence = 0
		e.leader.next = e.stableFrom
		return true
	}
	return false
}

func (e *elector) observeBeacon(b wire.Beacon, now time.Time) bool {
	switch {
	case b.Worker == e.cfg.ID: // heard late, if this process no longer leads
		return false
	case b.Epoch < e.leader.epoch: // of one deposed that has not noticed
		return false
	}
	fresh := !e.known || b.Epoch > e.leader.epoch
	if fresh {
		e.adopt(leader{epoch: b.Epoch, worker: b.Worker, leaseID: b.LeaseID}, now)
		e.leader.next = now.Add(e.pingInterval())
	}
	e.leader.workers = b.Workers
	e.signOfLife(now)
	return fresh
}

func (e *elector) observeSuspicion(s wire.Suspect, now time.Time) bool {
	switch {
	case s.Worker == e.cfg.ID:
		return false
	case s.Epoch == 0:
		e.others = true
		return !e.known
	case !e.known || s.Epoch != e.leader.epoch:
		return false
	}
	e.leader.suspected = true
	e.leader.resigned = e.leader.resigned || s.Worker == e.leader.worker
	if soon := later(now, e.leader.pinged.Add(pingGap)); soon.Before(e.leader.next) {
		e.leader.next = soon
	}
	return true
}

// adopt begins to follow a leader.
func (e *elector) adopt(l leader, now time.Time) {
	l.since, l.sign = now, now
	l.workers = e.leader.workers
	e.leader, e.known = l, true
	e.log.Info("Following", "epoch", l.epoch, "leader", l.worker)
}

// signOfLife notes that the leader lives.
func (e *elector) signOfLife(now time.Time) {
	e.leader.sign, e.leader.answered = now, true
	e.leader.silence = 0
	e.leader.suspected, e.leader.resigned = false, false
	e.held, e.refused, e.failures = 0, "", 0
}

// linkedSince reports whether what was not heard since the instant is evidence.
func (e *elector) linkedSince(sent time.Time) bool { return e.linked && !sent.Before(e.stableFrom) }

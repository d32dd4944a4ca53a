package session

import "time"

// drain is the state of draining. A draining worker gives back its queued spans and calls at once,
// and the rest of a running span after the current partition. Running calls continue to their end
// during draining. Items are kept until they are durable.
type drain struct {
	begun     bool
	cancelled bool          // draining took too long and running spans were cancelled
	left      bool          // Step has returned [Leave]
	cancelAt  time.Duration // time at which running spans are cancelled
	leaveAt   time.Duration // time at which the worker leaves even if some items are not durable
}

// due returns the time of the next step of draining.
func (d drain) due() time.Duration {
	switch {
	case !d.begun || d.left:
		return never
	case !d.cancelled:
		return d.cancelAt
	}
	return d.leaveAt
}

// beginDrain drops all queued spans, ends running spans after their current partition, and accepts
// no more work.
func (s *Session) beginDrain() {
	if s.drain.begun {
		return
	}
	s.drain.begun = true
	s.drain.cancelAt = s.now + s.cfg.Timing.DrainTimeout
	s.drain.leaveAt = s.drain.cancelAt + s.cfg.Timing.LeaveTimeout
	s.schedule.urgent, s.schedule.wanted = true, true
	for _, j := range s.work.jobs {
		s.dropQueued(j)
		s.dropQueuedCalls(j)
	}
	s.do(DrainBegun{s.running()})
	s.collect()
}

// leave ends the session and returns true in three cases: the leader knows that the worker holds
// nothing; the worker holds nothing and no leader listens; or draining has taken too long.
func (s *Session) leave() bool {
	nobody := s.searching() || !s.leader.connected
	known := s.conversation.saidGoodbye && !s.conversation.inFlight
	switch {
	case s.Empty() && known:
		return s.leaveFor(Drained)
	case s.Empty() && nobody:
		return s.leaveFor(NothingHeld)
	case s.now < s.drain.cancelAt:
		return false
	case !s.drain.cancelled:
		s.drain.cancelled = true
		s.schedule.wanted = true
		s.do(CancelRunning{s.running()})
	}
	if s.now < s.drain.leaveAt && (s.running() > 0 || !nobody) {
		return false
	}
	return s.leaveFor(TimedOut)
}

func (s *Session) leaveFor(reason LeaveReason) bool {
	items, _ := s.Kept()
	s.drain.left = true
	s.do(Leave{Reason: reason, Items: items + s.undurableNodes(), Running: s.running()})
	return true
}

// running returns how many slots and calls run code that may still return.
func (s *Session) running() int {
	return s.work.busy - s.work.lostSlots + s.work.calling - s.work.lostCalls
}

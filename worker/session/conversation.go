package session

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// schedule determines when the next report is made, and when the last report is resent.
type schedule struct {
	exchange uint64        // number of the last report
	interval time.Duration // normal time between two reports
	dueAt    time.Duration // time at which the next report is due if nothing is urgent
	earliest time.Duration // time before which no report is sent while spans or calls are held
	shortAt  time.Duration // time at which a report is due because work runs short

	blockedUntil time.Duration // time before which no report is sent, because the last report was refused

	urgent bool // the next report must be sent at once
	wanted bool // a report with the results of all slots must be sent at once

	collecting bool // the next report waits for results of slots
	collectBy  time.Duration

	sentAt   time.Duration // time at which the report in flight was first sent
	resendAt time.Duration
	resends  time.Duration // time between the last two times at which the report in flight was sent

	// absences and refusals are the waits after consecutive failures; both are 0 after a success.
	absences time.Duration // wait after a report without responders
	refusals time.Duration // wait after a report that was refused
}

// searching reports whether the worker knows no leader that listens for reports.
func (s *Session) searching() bool { return s.leader.epoch == 0 || s.leader.gone }

// connected makes every request that waits for a reply due again, because the reply may have been
// missed.
func (s *Session) connected(server string) {
	s.leader.connected, s.leader.server = true, server
	s.leader.askAt, s.schedule.resendAt = s.now, s.now
	s.leader.recordAt = s.now + s.leader.recordPause // time without a connection does not count as time without an answer
}

// heard handles a message from a leader. The worker follows the sender unless its epoch is lower
// than the epoch of the current leader. heard ignores leaders on another storage, whose epochs are
// unrelated, and invalid epochs. It reports whether the worker now follows the sender.
func (s *Session) heard(in LeaderHeard) bool {
	return wire.SameStorage(in.Storage, s.cfg.Hello.Storage) && in.Epoch <= wire.MaxEpoch && s.follow(in.Epoch)
}

// follow makes the worker follow an epoch, unless the worker already follows a higher epoch. It
// reports whether the worker now follows the given epoch.
func (s *Session) follow(epoch uint64) bool {
	switch {
	case epoch > s.leader.epoch:
		s.turnTo(epoch)
	case epoch > 0 && epoch == s.leader.epoch && s.leader.gone:
		s.leader.gone = false
		s.schedule.absences, s.schedule.resendAt = 0, s.now
	}
	return epoch > 0 && epoch == s.leader.epoch
}

// turnTo makes the worker follow the leader of an epoch. Epoch 0 means that the worker knows no
// leader.
func (s *Session) turnTo(epoch uint64) {
	s.do(Following{Epoch: epoch, Was: s.leader.epoch})
	s.leader.epoch, s.leader.gone, s.leader.answered = epoch, false, false
	s.startOver()
	sched := &s.schedule
	sched.wanted, sched.collecting = true, false
	sched.interval, sched.earliest, sched.blockedUntil = s.cfg.Timing.Interval, s.now, s.now
	sched.absences, sched.refusals = 0, 0
}

// onRecord switches to the leader whose epoch is in the lease's record. A leader writes its epoch
// into the record before it leads: if the record's epoch is lower than the followed epoch, no
// leader had the followed epoch when the read began. If the worker has switched to another leader
// since the read began, onRecord ignores the result.
func (s *Session) onRecord(in RecordRead) {
	if in.Followed == s.leader.epoch && in.Epoch != s.leader.epoch && in.Epoch <= wire.MaxEpoch {
		s.turnTo(in.Epoch)
	}
}

// startOver makes the next report the first of a new conversation.
func (s *Session) startOver() {
	s.conversation = conversation{id: s.conversation.id + 1}
	s.schedule.urgent = true
	for _, j := range s.work.jobs {
		j.received = j.durable
		j.listed = false
	}
}

// reportDue returns the time at which the session must resend the report in flight or make the next
// report.
func (s *Session) reportDue() time.Duration {
	sched := &s.schedule
	switch {
	case s.leader.epoch == 0:
		return never
	case s.conversation.inFlight:
		return sched.resendAt
	case sched.collecting && s.work.awaited > 0:
		return sched.collectBy
	case !sched.urgent && !sched.wanted:
		return max(sched.earliest, min(sched.dueAt, sched.shortAt))
	case s.work.held == 0: // a later report would contain no further results
		return sched.blockedUntil
	}
	return max(sched.earliest, sched.blockedUntil)
}

// waitForSlots requests the slots' results if the next report should contain them. It reports
// whether the report must wait for the slots. An urgent report does not wait for slots.
func (s *Session) waitForSlots() bool {
	sched := &s.schedule
	if sched.collecting {
		return false // the report has waited long enough, or no slot has results to deliver
	}
	if !sched.wanted && !s.drain.begun && s.now < sched.dueAt {
		return false
	}
	s.collect()
	sched.collecting, sched.collectBy = true, s.now+s.cfg.Timing.HandOver
	return s.work.awaited > 0
}

// collect requests results from every slot that runs a span.
func (s *Session) collect() {
	asked := false
	for _, j := range s.work.jobs {
		for _, h := range j.running {
			if !h.asked {
				h.asked, asked = true, true
				s.work.awaited++
			}
		}
	}
	if asked {
		s.do(CollectFromSlots{})
	}
}

// handedOver records that a span's slot has delivered results or released the span.
func (s *Session) handedOver(h *HeldSpan) {
	if !h.asked {
		return
	}
	h.asked = false
	if s.work.awaited--; s.work.awaited == 0 {
		s.stepWanted = true
	}
}

// report makes the next report and sends it.
func (s *Session) report() {
	sched, timing := &s.schedule, s.cfg.Timing
	if s.keepsTooMuch() {
		s.do(MemoryFull{s.work.keptBytes})
	}
	r := s.nextReport()
	sched.exchange++
	sched.wanted, sched.collecting, sched.absences = false, false, 0
	interval := sched.interval
	if s.drain.begun {
		interval = min(interval, timing.DrainInterval)
	}
	sched.earliest, sched.dueAt, sched.shortAt = s.now+timing.Spacing, s.now+interval, never
	sched.sentAt, sched.resends = s.now, timing.AnswerTimeout
	sched.resendAt = s.now + sched.resends
	s.leader.recordAt, s.leader.recordPause = s.now+timing.RecordAfter, timing.RecordAfter
	s.do(SendReport{Exchange: sched.exchange, Report: r})
}

// runShort makes a report due because work runs short. If reports are rare, because the leader has many workers, the
// report waits for more results: at the end of a job, a report for each span would be too much for the leader.
func (s *Session) runShort() {
	sched, timing := &s.schedule, s.cfg.Timing
	sched.shortAt = min(sched.shortAt, sched.sentAt+max(0, sched.interval-timing.Interval)/shortShare)
	s.stepWanted = true
}

// shortShare is the share of the report interval for which a worker whose work runs short waits after a report. The two
// spans that the leader of many workers assigns to a slot take at least as long together (see package ledger).
const shortShare = 8

// resend sends the report in flight again. If reports are rare, the time until the next resend doubles, because a leader
// that is late has more to do with each repeated report.
func (s *Session) resend() {
	sched := &s.schedule
	sched.resends = min(2*sched.resends, max(s.cfg.Timing.AnswerTimeout, sched.interval/4))
	sched.resendAt = s.now + sched.resends
	s.do(ResendReport{sched.exchange})
}

// onNoResponders handles a report to a leader that does not listen for reports. The session keeps
// the report until it hears of a successor, or the same leader listens again.
func (s *Session) onNoResponders(in NoResponders) {
	if in.Exchange != s.schedule.exchange || !s.conversation.inFlight {
		return
	}
	if !s.leader.gone {
		s.leader.gone, s.leader.answered = true, false
		s.leader.askAt = s.now // the worker may have missed the beacon of another leader
	}
	s.schedule.absences = s.cfg.Timing.backoff(s.schedule.absences)
	s.schedule.resendAt = s.now + s.schedule.absences
}

// onReceipt handles a receipt, and ignores receipts for earlier reports.
func (s *Session) onReceipt(in ReceiptHeard) {
	if in.Exchange != s.schedule.exchange || !s.conversation.inFlight {
		return // the receipt is a duplicate or came late
	}
	r := in.Receipt
	if err := s.check(r); err != nil {
		s.do(ReceiptDropped{err})
		return
	}
	s.leader.gone, s.leader.answered = false, r.Refused == ""
	s.do(ReportAnswered{s.now - s.schedule.sentAt})
	sched, timing := &s.schedule, s.cfg.Timing
	if r.Refused != "" {
		s.startOver()
		sched.refusals = timing.backoff(sched.refusals)
		sched.blockedUntil, sched.wanted = s.now+sched.refusals, true
		s.do(ReportRefused{Epoch: r.Epoch, Reason: r.Refused, Wait: sched.refusals})
		return
	}
	sched.refusals = 0
	s.leader.holds = r.Holds
	if r.Every > 0 {
		sched.interval = max(timing.Spacing, min(r.Every, timing.MaxInterval))
		sched.dueAt = min(sched.dueAt, s.now+sched.interval)
	}
	s.receive(r)
}

package session

import (
	"fmt"
	"math"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Session is one worker's side of the conversation with its leader, without a clock, a goroutine or
// I/O. The caller passes inputs to [Session.Step] and performs the actions that Step returns. Slots
// call [Session.Take], [Session.Claim], [Session.HandOver], [Session.Deliver], [Session.Abandon]
// and [Session.Release] directly; tasks that open jobs call [Session.Opened] and
// [Session.OpenFailed]; calls of Plan, Merge and Finish begin with [Session.TakeCall] and end with
// [Session.Return]. Methods must not be called concurrently, so callers protect the session with a
// lock. The same sequence of calls gives the same actions and reports.
type Session struct {
	cfg     Config
	now     time.Duration
	actions []Action
	// stepWanted is set if a direct call has made a report or another action due.
	stepWanted bool
	benched    string // reason in the last receipt why the worker is benched; empty if it is not

	leader       leader
	conversation conversation
	schedule     schedule
	drain        drain
	work         work
}

// never is later than every other time.
const never = time.Duration(math.MaxInt64)

// New returns the session of a worker that has just started, which has no connection and knows no
// leader. The session's times are durations since the call of New, on a clock that never goes back.
func New(cfg Config) (*Session, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configure session: %w", err)
	}
	s := &Session{cfg: cfg}
	// The start time distinguishes this process from earlier processes with the same worker ID.
	s.conversation.id = wire.FirstConversation(cfg.Hello.Since) - 1
	s.schedule.interval, s.schedule.shortAt = cfg.Timing.Interval, never
	s.work.ended = make(map[string]uint64)
	s.work.slots = make([]*HeldSpan, cfg.Hello.Slots)
	return s, nil
}

// Step takes one input and returns the actions that the caller must perform, in order.
func (s *Session) Step(now time.Duration, in Input) []Action {
	s.now = max(s.now, now)
	if !s.drain.left {
		s.hear(in)
		s.proceed()
	}
	s.stepWanted = false
	actions := s.actions
	s.actions = nil
	return actions
}

// Due returns the time at which the session needs a [Tick] if no other input comes earlier.
func (s *Session) Due() time.Duration {
	if s.drain.left {
		return never
	}
	due := s.drain.due()
	if s.leader.connected {
		due = min(due, s.reportDue())
		if s.searching() {
			due = min(due, s.leader.askAt)
		}
		if s.conversation.inFlight {
			due = min(due, s.leader.recordAt)
		}
	}
	return due
}

// NeedsStep reports whether direct calls since the last Step have made a report or another action
// due. If NeedsStep returns true, the caller should call Step soon.
func (s *Session) NeedsStep() bool { return s.stepWanted }

// hear updates the session's state for an input.
func (s *Session) hear(in Input) {
	switch in := in.(type) {
	case Connected:
		s.connected(in.Server)
	case Disconnected:
		s.leader.connected = false
	case LeaderHeard:
		s.heard(in)
	case Nudged:
		if s.heard(LeaderHeard(in)) {
			s.schedule.wanted = true
		}
	case RecordRead:
		s.onRecord(in)
	case ReceiptHeard:
		s.onReceipt(in)
	case NoResponders:
		s.onNoResponders(in)
	case Drain:
		s.beginDrain()
	}
}

// proceed performs every action that is due.
func (s *Session) proceed() {
	if s.drain.begun && s.leave() || !s.leader.connected {
		return
	}
	if s.searching() && s.now >= s.leader.askAt {
		s.leader.askAt = s.now + s.cfg.Timing.MaxBackoff
		s.do(AskLeader{})
	}
	if s.conversation.inFlight && s.now >= s.leader.recordAt {
		s.leader.recordPause = min(2*s.leader.recordPause, s.cfg.Timing.MaxRecordPause)
		s.leader.recordAt = s.now + s.leader.recordPause
		s.do(ReadRecord{s.leader.epoch})
	}
	switch {
	case s.now < s.reportDue():
	case s.conversation.inFlight:
		s.resend()
	case s.waitForSlots():
	default:
		s.report()
	}
}

func (s *Session) do(a Action) { s.actions = append(s.actions, a) }

// hurry makes the next report due at once.
func (s *Session) hurry() { s.schedule.urgent, s.stepWanted = true, true }

// Epoch returns the epoch of the leader that the worker follows, or 0 before the first leader.
func (s *Session) Epoch() uint64 { return s.leader.epoch }

// Answered reports whether the current leader is believed to be alive and accepted the last report
// that it answered.
func (s *Session) Answered() bool { return s.leader.answered }

// Draining reports whether the worker drains.
func (s *Session) Draining() bool { return s.drain.begun }

// Busy returns the number of slots that run a span.
func (s *Session) Busy() int { return s.work.busy }

// Queued returns the number of spans that wait for a slot.
func (s *Session) Queued() int {
	queued := 0
	for _, j := range s.work.jobs {
		queued += len(j.queued)
	}
	return queued
}

// Kept returns the number of kept items, and their size in bytes.
func (s *Session) Kept() (items, bytes int) {
	for _, j := range s.work.jobs {
		items += len(j.items)
	}
	return items, s.work.keptBytes
}

// Full reports whether the worker must not begin another partition, because memory is short or the
// kept items take too much memory.
func (s *Session) Full() bool { return s.work.paused || s.keepsTooMuch() }

// keepsTooMuch reports whether the items that are not durable take as much memory as they may.
func (s *Session) keepsTooMuch() bool { return s.work.keptBytes >= s.cfg.MaxKept }

// Empty reports whether no span and no call is held, no slot and no call runs code that may
// still return, no item is kept, and each held node is durable.
func (s *Session) Empty() bool {
	items, _ := s.Kept()
	return s.work.held == 0 && s.running() == 0 && items == 0 && s.undurableNodes() == 0
}

// Usable returns how many slots can run spans, and how many calls can run at the same time. The
// slots and calls that Usable does not count run code that does not return.
func (s *Session) Usable() (slots, calls int) {
	return s.cfg.Hello.Slots - s.work.lostSlots, s.cfg.Hello.Slots - s.work.lostCalls
}

// leader contains what the worker knows about the leader that it follows.
type leader struct {
	connected bool   // true while there is a connection to NATS
	server    string // ID of the NATS server of the last connection
	epoch     uint64 // epoch that the worker follows; 0 before the first leader
	gone      bool   // NATS has reported that no process listens for reports to this leader
	answered  bool
	holds     bool          // the last leader that answered supports held nodes
	askAt     time.Duration // time of the next request for the leader, if no leader is known

	// recordAt is the time at which the session asks for the lease's record, if a report is in
	// flight. recordPause is the time from the previous such request, or from the report, to
	// recordAt.
	recordAt    time.Duration
	recordPause time.Duration
}

// conversation is the exchange of numbered reports and receipts with one leader.
type conversation struct {
	id          uint64
	sequence    uint64 // number of the last report; 0 if no report was sent
	inFlight    bool   // the last report has no receipt yet
	moreFollows bool   // the last report omitted items that did not fit
	saidGoodbye bool   // the last report said that the worker drains and holds nothing
}

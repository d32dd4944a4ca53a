package machine

import (
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Machine decides when one process follows, campaigns, leads and hands over. A Machine has no
// clock, no goroutine and no I/O: its caller, usually election.Run, feeds inputs to [Machine.Step] and
// performs the actions that Step returns. The same inputs and the same random source give the same
// actions. A Machine must be used from one goroutine.
type Machine struct {
	cfg      Config
	log      *slog.Logger
	now      time.Duration
	state    state
	wake     time.Duration // time at which onWake is called if no input comes earlier
	question question      // the last question, whose answer counts if it is open
	stopping bool
	actions  []Action // actions that the current step returns

	leader     leader
	known      bool        // the process believes that the process in the field leader leads
	offer      *wire.Offer // received offer that was not accepted yet, or nil
	connection connection
	search     search
	candidacy  candidacy
	term       termState
	streaks    streaks

	logOtherFrom  time.Duration // time until which no line is logged about leaders on another storage
	cooldownUntil time.Duration // time until which the process claims the lease only after an offer
	declinesUntil time.Duration // time until which the process declines offers, because its own last term has failed
}

type question struct {
	number uint64
	sent   time.Duration
	open   bool // the question is not answered yet and its answer counts
}

type connection struct {
	up         bool
	stableFrom time.Duration // time before which a missing message is no evidence of a death
}

// search is the state of a process without a known leader. It decides when the process reads the
// record.
type search struct {
	othersRead bool // another process is about to read the record
	deferred   bool // this process has deferred its read because of othersRead
}

// streaks counts consecutive failures, which lengthen pauses.
type streaks struct {
	refused   int    // number of refused claims since a leader was last heard
	refusedBy string // lease ID of the leader that the last refused claim was to replace
	storage   int    // number of calls that failed because storage was unavailable
	terms     int    // number of consecutive terms that failed, of this process or of others, as far as the process knows
	logged    bool   // the current storage outage was logged
}

// state is the state of a machine. In each state the machine waits for a time or for an answer.
type state int

const (
	searching    state = iota // waits for a beacon and then reads the record, or polls it (see Machine.watches)
	following                 // pings the leader at intervals
	confirming                // waits for a random time, and then checks that the leader is dead
	claiming                  // claims the lease, or waits to retry the claim
	leading                   // the leading function runs, or a renewal is in flight
	transferring              // changes the lease's ID for a successor
	offering                  // offers the lease to the successor
	releasing                 // releases the lease
	stopped
)

const never = time.Duration(math.MaxInt64)

// New returns the machine of a process that has just started. The machine's times are durations
// since that start, on a monotonic clock.
func New(cfg Config) (*Machine, error) { return start(cfg, connection{up: true}) }

// NewWithoutPeers returns the machine of a process whose election has only a lease. The election is
// exclusive (see [Config.Exclusive]).
func NewWithoutPeers(cfg Config) (*Machine, error) {
	cfg.Exclusive = true
	return start(cfg, connection{})
}

func start(cfg Config, c connection) (*Machine, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configure election: %w", err)
	}
	m := &Machine{cfg: cfg, log: cfg.Logger, connection: c}
	m.follow()
	return m, nil
}

// Due returns the time at which the machine needs a Tick if it gets no other input before. It
// returns the largest Duration if the machine needs no Tick.
func (m *Machine) Due() time.Duration {
	if m.trusted() {
		return min(m.wake, m.term.deadline)
	}
	return m.wake
}

// Step processes one input and returns the resulting actions, in the order in
// which they must be started.
func (m *Machine) Step(now time.Duration, in Input) []Action {
	m.now = max(m.now, now)
	m.expire()
	switch in := in.(type) {
	case Event:
		m.onEvent(in)
	case Answer:
		if m.question.open && in.To == m.question.number {
			m.question.open = false
			m.onAnswer(in)
		}
	case Beat:
		m.onBeat()
	case Deposed:
		m.depose(in.Cause)
	case Returned:
		m.onReturned(in)
	case Stop:
		m.onStop()
	}
	m.expire() // the answer to a claim may have come after the deadline
	if m.now >= m.wake {
		m.wake = never
		m.onWake()
	}
	actions := m.actions
	m.actions = nil
	return actions
}

func (m *Machine) onEvent(e Event) {
	if m.state == stopped {
		return
	}
	effect := m.observe(e)
	switch m.state {
	case searching, following:
		switch {
		case effect == leaderChanged || effect == recheck && !m.question.open:
			m.follow()
		case m.state == searching && !m.question.open && m.connection.up:
			m.deferRead()
		}
	case confirming:
		if !m.stillWanted() {
			m.follow()
		}
	case claiming: // the machine must wait for the answer to the claim
		if !m.question.open && !m.stillWanted() {
			m.follow()
		}
	case leading:
		if m.leader.epoch > m.term.record.Epoch {
			m.depose(HigherEpoch(m.leader.epoch))
		}
	}
}

func (m *Machine) onAnswer(a Answer) {
	switch m.state {
	case searching:
		m.onRecord(a.Record, a.Err)
	case following:
		m.onPong(a.Err)
	case confirming:
		m.onConfirmed(a.Err)
	case claiming:
		m.onAcquired(a.Record, a.Err)
	case leading:
		m.onRenewed(a.Err)
	case transferring:
		m.onTransferred(a.Err)
	case offering:
		m.onOffered(a.Err)
	case releasing:
		m.onReleased(a.Err)
	}
}

// onWake handles the end of the current state's wait.
func (m *Machine) onWake() {
	switch m.state {
	case searching:
		m.readRecord()
	case following:
		m.ping()
	case confirming:
		m.confirm()
	case claiming:
		m.acquire()
	case leading:
		m.awaitBeat()
	}
}

// onStop ends the current state if the state can be abandoned. It asks the leading function of a
// leader to stop.
func (m *Machine) onStop() {
	if m.stopping {
		return
	}
	m.stopping = true
	switch m.state {
	case searching, following, confirming:
		m.follow()
	case claiming:
		if !m.question.open {
			m.follow()
		}
	case leading:
		m.do(StopLeading{})
	}
}

// wait enters state s, in which onWake is called at the time until.
func (m *Machine) wait(s state, until time.Duration) {
	m.state, m.question.open, m.wake = s, false, until
}

// ask enters state s and returns a new question, whose answer onAnswer handles.
func (m *Machine) ask(s state, within time.Duration) Question {
	m.question = question{number: m.question.number + 1, sent: m.now, open: true}
	m.state, m.wake = s, never
	return Question{Number: m.question.number, Within: within}
}

func (m *Machine) do(a Action) { m.actions = append(m.actions, a) }

// storageFailed logs the first of several consecutive storage failures as a warning, and further failures at
// debug level.
func (m *Machine) storageFailed(operation string, err error) {
	log := m.log.Warn
	if m.streaks.logged {
		log = m.log.Debug
	}
	m.streaks.logged = true
	log("Lease storage unavailable", "operation", operation, "error", err)
}

// storageWorked logs the end of an outage if the outage was logged.
func (m *Machine) storageWorked() {
	if m.streaks.logged {
		m.streaks.logged = false
		m.log.Info("Lease storage available again")
	}
}

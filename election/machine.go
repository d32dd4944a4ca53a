package election

import (
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Machine is one process's part in elections, without a clock, a goroutine or
// I/O: a shell, as [Run] is, tells it what happens and performs the actions that
// come back. The same inputs and the same chance give the same actions. It is
// used from one goroutine.
type Machine struct {
	cfg Config
	log *slog.Logger
	now time.Duration

	state    state
	wake     time.Duration // when to go on if nothing is heard
	asked    uint64        // the number of the question whose answer is of interest; 0: none
	sent     time.Duration // when it was asked
	number   uint64        // of the last question
	stopping bool
	actions  []Action

	leader leader
	known  bool        // leader leads as far as one knows
	offer  *wire.Offer // received and not taken up

	linked     bool
	stableFrom time.Duration // what was not heard before this instant is no evidence

	others   bool // another process is about to read the record
	deferred bool // reading was put off for that

	candidacy candidacy
	claim     Claim
	reign     reign

	aside    time.Duration // until when leading is left to others
	held     int           // times in a row that a claim was refused though nobody was heard to lead
	refused  string        // the lease ID of the leader that the last of those claims was to replace
	failures int           // times in a row that storage could not be reached
	failed   int           // times in a row that this process's leading function returned an error
	troubled bool          // storage failed when last called, and that was logged
}

// state is what a machine is at. In each it waits for an instant or an answer.
type state int

const (
	searching    state = iota // for who leads: waits for a beacon, then reads the record
	following                 // waits, then pings the leader
	confirming                // that the leader is gone: waits a random moment, then pings
	claiming                  // asks for the lease, or waits to ask again
	leading                   // until the leading function has returned and no renewal is under way
	transferring              // changes the lease's ID for a successor
	offering                  // tells the successor
	releasing                 // frees the lease
	stopped
)

// never is an instant that does not come.
const never = time.Duration(math.MaxInt64)

// NewMachine makes the machine of a process that has just started. Its instants
// are times since then, on a clock that never goes back.
func NewMachine(cfg Config) (*Machine, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Rand == nil {
		return nil, errors.New("configure election: Rand: want one")
	}
	m := &Machine{cfg: cfg, log: cfg.Logger, linked: true}
	m.follow()
	return m, nil
}

// Due is when a Tick is wanted if nothing else is stepped before. Nothing is due
// at the largest instant.
func (m *Machine) Due() time.Duration {
	if m.trusted() {
		return min(m.wake, m.reign.until)
	}
	return m.wake
}

// Step takes one input and returns what is to be done about it, in that order.
func (m *Machine) Step(now time.Duration, in Input) []Action {
	m.now = max(m.now, now)
	m.expire()
	switch in := in.(type) {
	case Event:
		m.hear(in)
	case Answer:
		if m.asked != 0 && in.To == m.asked {
			m.asked = 0
			m.answered(in)
		}
	case Beat:
		m.beat()
	case Deposed:
		m.depose(in.Cause)
	case Returned:
		m.returned(in)
	case Stop:
		m.stop()
	}
	m.expire() // a lease may have been acquired too long ago
	if m.now >= m.wake {
		m.wake = never
		m.goOn()
	}
	actions := m.actions
	m.actions = nil
	return actions
}

// hear takes in an event, and turns to what it gives reason to.
func (m *Machine) hear(e Event) {
	if m.state == stopped {
		return
	}
	heard := m.observe(e)
	switch m.state {
	case searching, following:
		switch {
		case heard == turn || heard == hint && m.asked == 0:
			m.follow()
		case m.state == searching && m.asked == 0 && m.linked:
			m.postpone()
		}
	case confirming:
		if !m.stillWanted() {
			m.follow()
		}
	case claiming: // what was asked is seen through
		if m.asked == 0 && !m.stillWanted() {
			m.follow()
		}
	case leading:
		if m.leader.epoch > m.reign.record.Epoch {
			m.depose(higherEpoch(m.leader.epoch))
		}
	}
}

// answered goes on with an answer that is of interest.
func (m *Machine) answered(a Answer) {
	switch m.state {
	case searching:
		m.found(a.Record, a.Err)
	case following:
		m.judge(a.Err)
	case confirming:
		m.confirmed(a.Err)
	case claiming:
		m.claimed(a.Record, a.Err)
	case leading:
		m.renewed(a.Err)
	case transferring:
		m.transferred(a.Err)
	case offering:
		m.offered(a.Err)
	case releasing:
		m.released(a.Err)
	}
}

// goOn does what was waited for.
func (m *Machine) goOn() {
	switch m.state {
	case searching:
		m.look()
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

// stop ends what is not to be seen through.
func (m *Machine) stop() {
	if m.stopping {
		return
	}
	m.stopping = true
	switch m.state {
	case searching, following, confirming:
		m.follow()
	case claiming:
		if m.asked == 0 {
			m.follow()
		}
	case leading:
		m.do(StopLeading{})
	}
}

// wait goes on at an instant, unless something is heard that changes what to do.
func (m *Machine) wait(s state, until time.Duration) {
	m.state, m.asked, m.wake = s, 0, until
}

// ask numbers a question. Its answer alone is of interest from now on.
func (m *Machine) ask(s state, within time.Duration) Question {
	m.number++
	m.state, m.asked, m.sent, m.wake = s, m.number, m.now, never
	return Question{Number: m.number, Within: within}
}

func (m *Machine) do(a Action) { m.actions = append(m.actions, a) }

// complain logs trouble with storage when it begins; what follows is detail.
func (m *Machine) complain(doing string, err error) {
	log := m.log.Warn
	if m.troubled {
		log = m.log.Debug
	}
	m.troubled = true
	log("Trouble with the lease's storage", "doing", doing, "error", err)
}

// recovered logs that the trouble is over, if there was any.
func (m *Machine) recovered() {
	if m.troubled {
		m.troubled = false
		m.log.Info("The lease's storage answers again")
	}
}

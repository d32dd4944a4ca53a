package sim

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/machine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// elector runs the real election machine of a process on the simulated network and storage.
type elector struct {
	process *process
	machine *machine.Machine
	wakeAt  time.Duration // time at which the machine's current timer fires
	term    *leadership   // the current leadership; nil if the process does not lead
}

func newElector(p *process) *elector {
	s := p.sim
	m, err := machine.New(machine.Config{
		ID: p.name, Storage: p.storage.identity, Duration: s.scenario.lease, PingRate: 8, Logger: p.log,
		Rand: rand.New(rand.NewPCG(s.rng.Uint64(), s.rng.Uint64())),
	})
	if err != nil {
		panic(fmt.Errorf("make machine: %w", err)) // cannot happen, because the configuration is valid
	}
	return &elector{process: p, machine: m, wakeAt: math.MaxInt64}
}

func (e *elector) begin() {
	if !e.process.connected {
		e.step(machine.Disconnected{})
	}
	e.step(machine.Tick{})
}

func (e *elector) stop() { e.step(machine.Stop{}) }

func (e *elector) disconnected() {
	e.step(machine.Disconnected{})
	e.process.worker.step(session.Disconnected{})
}

func (e *elector) reconnected() {
	e.process.stableFrom = e.process.clock() + 2*time.Second
	e.step(machine.Reconnected{})
	e.process.worker.step(session.Connected{})
}

func (e *elector) step(in machine.Input) {
	p := e.process
	if !p.alive {
		return
	}
	for _, a := range e.machine.Step(p.clock(), in) {
		e.perform(a)
	}
	due := e.machine.Due()
	if !p.alive || due == math.MaxInt64 || due == e.wakeAt {
		return
	}
	e.wakeAt = due
	p.timer(max(due-p.clock(), 0)+1, func() {
		if e.wakeAt == due {
			e.wakeAt = math.MaxInt64
			e.step(machine.Tick{})
		}
	})
}

func (e *elector) perform(a machine.Action) {
	p := e.process
	s := p.sim
	lease := p.storage.lease
	switch a := a.(type) {
	case machine.Ping:
		e.ping(a)
	case machine.Offer:
		e.offer(a)
	case machine.Read:
		e.call(a.Question, lease.read)
	case machine.Acquire:
		e.call(a.Question, func() (election.Record, error) { return lease.acquire(a.Claim) })
	case machine.Renew:
		e.call(a.Question, func() (none election.Record, err error) { return none, lease.renew(a.Held) })
	case machine.Transfer:
		e.call(a.Question, func() (none election.Record, err error) {
			return none, lease.lease.Transfer(context.Background(), a.Held, a.LeaseID)
		})
	case machine.Release:
		e.call(a.Question, func() (none election.Record, err error) {
			return none, lease.lease.Release(context.Background(), a.Held)
		})
	case machine.SendSuspicion:
		s.network.broadcast(p, func(to *process) {
			to.elector.step(machine.SuspicionHeard{Suspicion: wire.Suspicion{Epoch: a.Epoch, Worker: p.name}})
		})
	case machine.Lead:
		s.cover("takeover: " + string(a.Cause))
		if p.storage == s.storage {
			s.checks.leads(p, a)
		}
		e.term = newTerm(e, a)
		e.term.begin()
	case machine.SetDeadline:
		e.term.lease.until, e.term.lease.expired = a.Deadline, a.Cause
	case machine.EndTerm:
		e.term.lease.end(a.Cause)
		e.term.check()
	case machine.AwaitBeat:
		e.term.beatWanted = true
	case machine.StopLeading:
		if e.term != nil { // the leadership may already have ended
			e.term.stop()
		}
	case machine.Done:
		p.exit()
	}
}

// call sends a request about the lease to storage. The result is the machine's answer to question q.
func (e *elector) call(q machine.Question, effect func() (election.Record, error)) {
	answer := e.onceWithin(q, election.ErrUnavailable)
	var record election.Record
	var result error
	e.process.storage.call(e.process, func() { record, result = effect() }, func(lost error) {
		if lost != nil {
			result = election.ErrUnavailable
		}
		answer(record, result)
	})
}

func (e *elector) ping(a machine.Ping) {
	p := e.process
	answer := e.onceWithin(a.Question, context.DeadlineExceeded)
	p.sim.network.request(p, func(to *process) bool { return to.leads() == a.Epoch }, func(to *process, reply func(func())) {
		if wire.SameStorage(p.storage.identity, to.storage.identity) {
			to.elector.term.ping(func() { reply(func() { answer(election.Record{}, nil) }) })
		}
	}, func() { answer(election.Record{}, election.ErrNoResponders) })
}

func (e *elector) offer(a machine.Offer) {
	p := e.process
	answer := e.onceWithin(a.Question, context.DeadlineExceeded)
	p.sim.network.request(p, func(to *process) bool { return to.name == a.Worker }, func(to *process, reply func(func())) {
		to.elector.step(machine.OfferReceived{Offer: a.Offer})
		reply(func() { answer(election.Record{}, nil) })
	}, func() { answer(election.Record{}, election.ErrNoResponders) })
}

// onceWithin returns a function that passes the first answer to question q to the machine. Without an
// answer within the limit of q, the machine gets the error late.
func (e *elector) onceWithin(q machine.Question, late error) (answer func(election.Record, error)) {
	answered := false
	answer = func(r election.Record, err error) {
		if answered {
			return
		}
		answered = true
		if err != nil {
			r = election.Record{}
		}
		e.step(machine.Answer{To: q.Number, Record: r, Err: err})
	}
	e.process.timer(q.Within, func() { answer(election.Record{}, late) })
	return answer
}

func (e *elector) heard(b wire.Beacon) {
	e.step(machine.BeaconHeard{Beacon: b})
	if e.process.alive {
		e.process.worker.step(session.LeaderHeard{Epoch: b.Epoch, Storage: b.Storage})
	}
}

// leads returns the epoch under which a process leads, or 0 if the process does not lead.
func (p *process) leads() uint64 {
	if p.elector == nil || p.elector.term == nil || p.elector.term.over {
		return 0
	}
	return p.elector.term.epoch
}

// deposed reports whether a process has a term that is over, but whose calls may still be in flight.
func (p *process) deposed() bool {
	return p.elector != nil && p.elector.term != nil && p.elector.term.over
}

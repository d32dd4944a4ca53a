package sim

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// candidate is a process's part in elections: a real machine, whose questions
// go over simulated network and storage.
type candidate struct {
	process *process
	machine *election.Machine
	wakeAt  time.Duration // a timer is set for then
	term    *leadership   // while it leads
}

func newCandidate(p *process) *candidate {
	s := p.sim
	machine, err := election.NewMachine(election.Config{
		ID: p.name, Duration: s.scenario.lease, PingRate: 8, Logger: p.log,
		Rand: rand.New(rand.NewPCG(s.chance.Uint64(), s.chance.Uint64())),
	})
	if err != nil {
		panic(fmt.Errorf("make machine: %w", err)) // the scenario is this package's
	}
	return &candidate{process: p, machine: machine, wakeAt: math.MaxInt64}
}

func (c *candidate) begin() {
	if !c.process.linked {
		c.step(election.Disconnected{})
	}
	c.step(election.Tick{})
}

func (c *candidate) stop() { c.step(election.Stop{}) }

func (c *candidate) unlinked() {
	c.step(election.Disconnected{})
	c.process.worker.step(session.Disconnected{})
}

func (c *candidate) relinked() {
	c.process.stableFrom = c.process.local() + 2*time.Second
	c.step(election.Reconnected{})
	c.process.worker.step(session.Connected{})
}

// step feeds the machine and performs what it answers.
func (c *candidate) step(in election.Input) {
	p := c.process
	if !p.alive {
		return
	}
	for _, a := range c.machine.Step(p.local(), in) {
		c.perform(a)
	}
	due := c.machine.Due()
	if !p.alive || due == math.MaxInt64 || due == c.wakeAt {
		return
	}
	c.wakeAt = due
	p.timer(max(due-p.local(), 0)+1, func() {
		if c.wakeAt == due {
			c.wakeAt = math.MaxInt64
			c.step(election.Tick{})
		}
	})
}

func (c *candidate) perform(a election.Action) {
	p := c.process
	s := p.sim
	st := s.storage
	switch a := a.(type) {
	case election.Ping:
		c.ping(a)
	case election.Offer:
		c.offer(a)
	case election.Read:
		var r election.Record
		c.call(a.Question, func() error { r = st.current(); return nil }, func() election.Record { return r })
	case election.Acquire:
		var r election.Record
		c.call(a.Question, func() (err error) { r, err = st.acquire(a.Claim); return err }, func() election.Record { return r })
	case election.Renew:
		c.call(a.Question, func() error { return st.renew(a.Held) }, nil)
	case election.Transfer:
		c.call(a.Question, func() error { return st.transfer(a.Held, a.LeaseID) }, nil)
	case election.Release:
		c.call(a.Question, func() error { return st.release(a.Held) }, nil)
	case election.SendSuspicion:
		s.network.all(p, func(to *process) {
			to.candidate.step(election.SuspicionHeard{Suspicion: wire.Suspicion{Epoch: a.Epoch, Worker: p.name}})
		})
	case election.Lead:
		s.hit("takeover: " + string(a.Cause))
		s.checks.leads(p, a.Record.Epoch)
		c.term = newTerm(c, a)
		c.term.begin()
	case election.SetDeadline:
		c.term.trust.until, c.term.trust.blame = a.Deadline, a.Cause
	case election.EndTerm:
		c.term.trust.end(a.Cause)
		c.term.check()
	case election.AwaitBeat:
		c.term.beatWanted = true
	case election.StopLeading:
		if c.term != nil { // else it has returned
			c.term.stop()
		}
	case election.Done:
		p.leave()
	}
}

// call has an effect on the lease, and tells the machine what came of it.
func (c *candidate) call(q election.Question, effect func() error, record func() election.Record) {
	p := c.process
	var result error
	answered := false
	answer := func(err error) {
		if answered {
			return
		}
		answered = true
		a := election.Answer{To: q.Number, Err: err}
		if err == nil && record != nil {
			a.Record = record()
		}
		c.step(a)
	}
	p.sim.storage.call(p, func() { result = effect() }, func(lost error) {
		if lost != nil {
			answer(election.ErrUnavailable)
			return
		}
		answer(result)
	})
	p.timer(q.Within, func() { answer(election.ErrUnavailable) })
}

func (c *candidate) ping(a election.Ping) {
	p := c.process
	answer := c.onceWithin(a.Question)
	p.sim.network.ask(p, func(to *process) bool { return to.leads() == a.Epoch }, func(to *process, reply func(func())) {
		to.candidate.term.ping(func() { reply(func() { answer(nil) }) })
	}, func() { answer(election.ErrNoResponders) })
}

func (c *candidate) offer(a election.Offer) {
	p := c.process
	answer := c.onceWithin(a.Question)
	p.sim.network.ask(p, func(to *process) bool { return to.name == a.Worker }, func(to *process, reply func(func())) {
		to.candidate.step(election.OfferReceived{Offer: a.Offer})
		reply(func() { answer(nil) })
	}, func() { answer(election.ErrNoResponders) })
}

// onceWithin answers a question once: as it is called, or that time is up.
func (c *candidate) onceWithin(q election.Question) (answer func(error)) {
	answered := false
	answer = func(err error) {
		if !answered {
			answered = true
			c.step(election.Answer{To: q.Number, Err: err})
		}
	}
	c.process.timer(q.Within, func() { answer(context.DeadlineExceeded) })
	return answer
}

// heard: a leader says that it leads.
func (c *candidate) heard(b wire.Beacon) {
	c.step(election.BeaconHeard{Beacon: b})
	if c.process.alive {
		c.process.worker.step(session.LeaderHeard{Epoch: b.Epoch})
	}
}

// leads is the epoch under which a process leads, 0 if it does not.
func (p *process) leads() uint64 {
	if p.candidate == nil || p.candidate.term == nil || p.candidate.term.over {
		return 0
	}
	return p.candidate.term.epoch
}

package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/machine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// leadership runs the real term of a leader on the simulated storage and network.
type leadership struct {
	elector    *elector
	process    *process
	epoch      uint64
	lease      *leaseContext
	finish     context.CancelFunc // function that cancels the context of the term's tasks
	term       *term.Term
	beatWanted bool
	tasks      int // number of tasks that are running
	waits      []*wait
	over       bool
	outcome    machine.Returned
}

var (
	_ term.Env       = (*leadership)(nil)
	_ term.Transport = (*leadership)(nil)
)

func newTerm(e *elector, lead machine.Lead) *leadership {
	p := e.process
	t := &leadership{elector: e, process: p, epoch: lead.Record.Epoch, lease: newLeaseContext(p, lead.Deadline)}
	var inner context.Context
	inner, t.finish = context.WithCancel(t.lease)
	made, err := term.New(inner, term.Config{
		Worker: p.name, Host: "sim", PID: 1, Jobs: p.definitions(), Store: p.store, Storage: p.storage.identity, Logger: p.log,
		Ledger: p.sim.scenario.ledger, MaxActive: p.sim.scenario.maxActive, ExtendEvery: p.sim.scenario.hideFor / 3,
	}, election.NewTerm(election.Term{
		Record: lead.Record, Cause: lead.Cause, Predecessor: lead.Predecessor, Workers: lead.Workers,
		Since: p.wallClock(), Detect: lead.Detect, Elect: lead.Elect,
	}, election.TermControl{Deposed: t.deposed}), t, t)
	if err != nil {
		panic(fmt.Errorf("make term: %w", err)) // cannot happen, because the configuration is valid
	}
	t.term = made
	return t
}

func (t *leadership) begin() {
	t.turn(t.term.Begin)
	t.tick()
}

func (t *leadership) tick() {
	t.process.timer(t.term.TickEvery(), func() {
		if !t.over {
			t.turn(t.term.Tick)
			t.tick()
		}
	})
}

// turn runs do as one iteration of the leader's loop.
func (t *leadership) turn(do func()) {
	if t.over {
		return
	}
	if t.lease.Err() == nil {
		if t.process.storage == t.process.sim.storage {
			t.process.sim.checks.acts(t.process, t.epoch)
		}
		do()
	}
	if t.beatWanted && !t.over {
		t.beatWanted = false
		t.elector.step(machine.Beat{})
	}
	t.check()
}

func (t *leadership) check() {
	if t.over || !t.process.alive {
		return
	}
	if err := t.lease.Err(); err != nil {
		t.end(machine.Returned{Err: context.Cause(t.lease)})
		return
	}
	if successor, left := t.term.Left(); left {
		if w := t.process.worker; successor != "" && w.session.Draining() && w.session.Busy() > 0 {
			t.process.sim.cover("seen: leader hands over while its worker runs spans")
		}
		t.term.Leave()
		t.end(machine.Returned{Successor: successor, Err: t.term.Err()})
	}
}

// end ends the term. The election machine learns of the end when the last task has returned.
func (t *leadership) end(outcome machine.Returned) {
	t.over, t.outcome = true, outcome
	t.finish()
	for _, w := range slices.Clone(t.waits) {
		w.done()
	}
	t.mayReturn()
}

func (t *leadership) mayReturn() {
	if t.over && t.tasks == 0 {
		// A separate event notifies the election machine, because the machine or a task may be
		// running now.
		t.process.timer(0, func() {
			if t.over && t.tasks == 0 && t.elector.term == t {
				t.elector.term = nil
				t.lease.end(context.Canceled)
				t.elector.step(t.outcome)
			}
		})
	}
}

func (t *leadership) stop() { t.turn(t.term.Stop) }

func (t *leadership) deposed(epoch uint64) {
	cause := machine.HigherEpoch(epoch)
	t.lease.end(cause)
	t.elector.step(machine.Deposed{Cause: cause})
}

func (t *leadership) report(r wire.Report, respond func(wire.Receipt)) {
	s := t.process.sim
	if r.Hello != nil && len(r.Jobs) > 0 {
		s.cover("seen: new leader told of partials")
	}
	if r.Hello != nil && len(r.Spans) > 0 {
		s.cover("seen: new leader told of spans")
	}
	if r.Hello != nil && len(r.Nodes) > 0 {
		s.cover("seen: new leader told of held nodes")
	}
	if r.More {
		s.cover("seen: report split")
	}
	t.turn(func() {
		t.term.Report(r, 1000, func(receipt wire.Receipt) {
			worker := s.named(r.Worker)
			s.checks.replies(t.process, worker, receipt)
			s.checks.assigns(worker, receipt)
			s.checks.replied(t, worker, r, receipt)
			respond(receipt)
		})
	})
}

func (t *leadership) ping(respond func()) { t.turn(respond) }

func (t *leadership) cancel(job string, answer func(error)) {
	t.turn(func() { t.term.Cancel(job, answer) })
}

func (t *leadership) submitted(job string, s wire.Submitted) {
	t.turn(func() { t.term.Submitted(job, s) })
}

// Now, Go, Post, Pause and Guard implement [term.Env].

func (t *leadership) Now() time.Time { return t.process.wallClock() }

func (t *leadership) Go(task func()) {
	t.tasks++
	t.process.timer(0, func() {
		t.process.spawn(task, func() {
			t.tasks--
			t.mayReturn()
		})
	})
}

func (t *leadership) Post(in func()) {
	t.process.timer(0, func() { t.turn(in) })
}

func (t *leadership) Pause(ctx context.Context, d time.Duration) { t.process.pause(ctx, d) }

func (t *leadership) Guard(limit time.Duration, code func()) (returned bool) {
	s := t.process.sim
	s.guarding = t
	misdeed := s.merges(code)
	s.guarding = nil
	switch misdeed {
	case kills:
		t.process.dies()
	case hangs:
		t.Pause(t.lease, limit)
		return false
	}
	return true
}

// Beacon, Nudge, Ended and Probe implement [term.Transport].

func (t *leadership) Beacon(b wire.Beacon) {
	t.process.sim.network.broadcast(t.process, func(to *process) { to.elector.heard(b) })
	t.process.worker.step(session.LeaderHeard{Epoch: b.Epoch, Storage: b.Storage})
}

func (t *leadership) Nudge(worker string) {
	p := t.process
	p.sim.network.request(p, func(to *process) bool { return to.name == worker }, func(to *process, _ func(func())) {
		to.worker.step(session.Nudged{Epoch: t.epoch, Storage: p.storage.identity})
	}, func() {})
}

func (t *leadership) Ended(job string) { t.process.sim.checks.announced(t.process, job) }

func (t *leadership) Probe(_ context.Context, worker, _ string) term.Sign {
	p := t.process
	works := func(to *process) bool { return to.name == worker && to.worker != nil && !to.worker.left }
	sign := term.Possible
	p.sim.await(func(done func()) {
		p.sim.network.request(p, works, func(to *process, reply func(func())) {
			to.worker.step(session.Nudged{Epoch: t.epoch, Storage: p.storage.identity})
			reply(done)
		}, func() {
			sign = term.Absent
			if !slices.ContainsFunc(p.sim.processes, func(to *process) bool { return to.alive && works(to) }) {
				sign = term.Dead
			}
			done()
		})
		p.timer(time.Second, done)
	})
	if !p.connected || p.clock() < p.stableFrom {
		return term.Possible
	}
	return sign
}

// pause blocks the running coroutine for d, or until the process's term ends.
func (p *process) pause(ctx context.Context, d time.Duration) {
	if ctx.Err() != nil {
		return
	}
	var t *leadership
	if p.elector != nil {
		t = p.elector.term
	}
	var w *wait
	p.sim.await(func(done func()) {
		if w = (&wait{done}); t != nil {
			t.waits = append(t.waits, w)
		}
		p.timer(d, done)
	})
	if t != nil {
		t.waits = slices.DeleteFunc(t.waits, func(o *wait) bool { return o == w })
	}
}

type wait struct{ done func() }

package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// leadership is one term: a real term, whose tasks wait for simulated storage
// and whose messages go over a simulated network.
type leadership struct {
	candidate  *candidate
	process    *process
	epoch      uint64
	trust      *trust
	finish     context.CancelFunc // ends what the term has begun
	term       *term.Term
	beatWanted bool
	tasks      int // that have not returned
	waits      []*wait
	over       bool
	verdict    election.Returned
}

var (
	_ term.Env  = (*leadership)(nil)
	_ term.Link = (*leadership)(nil)
)

func newTerm(c *candidate, lead election.Lead) *leadership {
	p := c.process
	t := &leadership{candidate: c, process: p, epoch: lead.Record.Epoch, trust: newTrust(p, lead.Deadline)}
	var inner context.Context
	inner, t.finish = context.WithCancel(t.trust)
	made, err := term.New(inner, term.Config{
		Worker: p.name, Host: "sim", PID: 1, Jobs: p.knows, Store: p.store, Logger: p.log,
		Ledger: p.sim.scenario.ledger, MaxActive: p.sim.scenario.maxActive, ExtendEvery: p.sim.scenario.hideFor / 3,
	}, election.NewTerm(election.Term{
		Record: lead.Record, Cause: lead.Cause, Predecessor: lead.Predecessor,
		Since: p.wall(), Detect: lead.Detect, Elect: lead.Elect,
	}, election.TermControl{Deposed: t.deposed}), t, t)
	if err != nil {
		panic(fmt.Errorf("make term: %w", err)) // the scenario is this package's
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

// turn is one turn of the leading loop.
func (t *leadership) turn(do func()) {
	if t.over {
		return
	}
	if t.trust.Err() == nil {
		t.process.sim.checks.acts(t.process, t.epoch)
		do()
	}
	if t.beatWanted && !t.over {
		t.beatWanted = false
		t.candidate.step(election.Beat{})
	}
	t.check()
}

// check ends the term where it is to end.
func (t *leadership) check() {
	if t.over || !t.process.alive {
		return
	}
	if err := t.trust.Err(); err != nil {
		t.end(election.Returned{Err: context.Cause(t.trust)})
		return
	}
	if successor, left := t.term.Left(); left {
		t.end(election.Returned{Successor: successor})
	}
}

// end ends the term. The machine hears of it once no task of it runs.
func (t *leadership) end(verdict election.Returned) {
	t.over, t.verdict = true, verdict
	t.finish()
	for _, w := range slices.Clone(t.waits) {
		w.done()
	}
	t.mayReturn()
}

func (t *leadership) mayReturn() {
	if t.over && t.tasks == 0 {
		// Not in the middle of what the machine or a task does.
		t.process.timer(0, func() {
			if t.over && t.tasks == 0 && t.candidate.term == t {
				t.candidate.term = nil
				t.trust.end(context.Canceled)
				t.candidate.step(t.verdict)
			}
		})
	}
}

func (t *leadership) stop() { t.turn(t.term.Stop) }

func (t *leadership) deposed(epoch uint64) {
	cause := fmt.Errorf("%w: epoch %d was seen", election.ErrDeposed, epoch)
	t.trust.end(cause)
	t.candidate.step(election.Deposed{Cause: cause})
}

func (t *leadership) report(r wire.Report, respond func(wire.Receipt)) {
	s := t.process.sim
	if r.Hello != nil && len(r.Jobs) > 0 {
		s.hit("seen: new leader told of partials")
	}
	if r.Hello != nil && len(r.Spans) > 0 {
		s.hit("seen: new leader told of spans")
	}
	r.Jobs = slices.Clone(r.Jobs) // the term may change it
	for i := range r.Jobs {
		r.Jobs[i].Items = slices.Clone(r.Jobs[i].Items)
	}
	if r.More {
		s.hit("seen: report split")
	}
	t.turn(func() {
		t.term.Report(r, 1000, func(receipt wire.Receipt) {
			s.checks.assigns(s.named(r.Worker), receipt)
			respond(receipt)
		})
	})
}

func (t *leadership) ping(respond func()) { t.turn(respond) }

func (t *leadership) cancel(job string, answer func(error)) {
	t.turn(func() { t.term.Cancel(job, answer) })
}

// Now, Go, Post and Pause are [term.Env].

func (t *leadership) Now() time.Time { return t.process.wall() }

func (t *leadership) Go(task func()) {
	t.tasks++
	t.process.timer(0, func() {
		t.process.start(task, func() {
			t.tasks--
			t.mayReturn()
		})
	})
}

func (t *leadership) Post(in func()) {
	t.process.timer(0, func() { t.turn(in) })
}

func (t *leadership) Pause(ctx context.Context, d time.Duration) { t.process.pause(ctx, d) }

// Beacon, Nudge and Probe are [term.Link].

func (t *leadership) Beacon(b wire.Beacon) {
	t.process.sim.network.all(t.process, func(to *process) { to.candidate.heard(b) })
	t.process.worker.step(session.LeaderHeard{Epoch: b.Epoch})
}

func (t *leadership) Nudge(worker string) {
	p := t.process
	p.sim.network.ask(p, func(to *process) bool { return to.name == worker }, func(to *process, _ func(func())) {
		to.worker.step(session.Nudged{Epoch: t.epoch})
	}, func() {})
}

func (t *leadership) Probe(_ context.Context, worker string) (dead bool) {
	p := t.process
	absent := false
	p.sim.await(func(done func()) {
		p.sim.network.ask(p, func(to *process) bool { return to.name == worker && to.worker != nil && !to.worker.left }, func(to *process, answer func(func())) {
			to.worker.step(session.Nudged{Epoch: t.epoch})
			answer(done)
		}, func() {
			absent = true
			done()
		})
		p.timer(time.Second, done)
	})
	return absent && p.linked && p.local() >= p.stableFrom
}

// pause has the running task wait for a while, or until its context is done, as
// far as that is the end of a term.
func (p *process) pause(ctx context.Context, d time.Duration) {
	if ctx.Err() != nil {
		return
	}
	var t *leadership
	if p.candidate != nil {
		t = p.candidate.term
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

// wait is one that ends at the latest with the term.
type wait struct{ done func() }

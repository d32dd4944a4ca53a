package sim

import (
	"sync/atomic"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// slot runs one span at a time, in place of the slots of package executor.
type slot struct {
	worker *worker
	span   *session.HeldSpan
	task   *task
	stack  engine.Stack
	stop   bool // true if the session has asked for the slot's results

	began     time.Duration // time at which the slot began its span
	next      uint64        // first partition that the slot has not run
	clean     bool          // true if no partition has run since the last delivery
	claims    uint64        // number of claims that the slot has made
	running   bool          // true while the partitions of the last claim are running
	cancelled bool          // true if the running partitions are cancelled
}

// cancelWithin is the maximum time from the cancellation of partitions until they stop.
const cancelWithin = 50 * time.Millisecond

// take begins to run the session's next span, if there is one.
func (s *slot) take() {
	w := s.worker
	s.span = w.session.Take()
	if s.span == nil {
		return
	}
	s.task = w.tasks[s.span.Job()]
	s.stack = s.task.opened.NewStack()
	s.began, s.clean = w.process.clock(), true
	s.goOn()
}

func (s *slot) goOn() {
	w := s.worker
	p := w.process
	sim := p.sim
	claim := w.session.Claim(s.span, uint64(sim.rng.intBetween(1, 3)), p.clock()-s.began > time.Second)
	if claim.Empty() || s.task.ctx.Err() != nil || s.cancelled {
		s.deliver(s.next, nil, s.release)
		return
	}
	if w.stuck {
		sim.fail("%s begins %v of job %s although its memory is short", p.name, claim, s.task.job.spec.ID)
	}
	sim.checks.computes(p, s.task.job, claim)
	takes, kills := s.task.job.cost(claim)
	if p.broken {
		takes = time.Millisecond
	}
	if kills {
		sim.cover("fault: partition killed its process")
		p.timer(sim.rng.between(0, takes), func() { sim.kill(p) })
		return
	}
	s.claims++
	s.running = true
	number := s.claims
	p.timer(takes, func() {
		if number == s.claims && s.running {
			s.ran(claim)
		}
	})
}

// ran computes partitions whose simulated time has passed. It delivers results or begins the next claim.
func (s *slot) ran(claim engine.Span) {
	var err error
	p := s.worker.process
	if s.task.job.onRan != nil {
		s.task.job.onRan(claim)
	}
	if p.broken {
		s.running, s.clean, s.next = false, false, claim.Lo
		s.deliver(s.next, errMachine, s.goOn)
		return
	}
	if p.sim.merges(func() { s.next, err = s.stack.Run(s.task.ctx, claim, new(atomic.Bool)) }) == kills {
		p.sim.kill(p)
		return
	}
	s.running, s.clean = false, false
	switch {
	case err != nil:
		s.deliver(s.next, err, s.goOn)
	case s.stop:
		s.deliver(s.worker.session.HandOver(s.span, s.next), nil, s.goOn)
	default:
		s.goOn()
	}
}

func (s *slot) cancel() {
	s.cancelled = true
	if !s.running {
		return // the slot is delivering results, or is idle
	}
	number := s.claims
	p := s.worker.process
	p.timer(p.sim.rng.between(0, cancelWithin), func() {
		if number == s.claims && s.running {
			s.running = false
			s.deliver(s.next, nil, s.release)
		}
	})
}

// deliver passes the results before hi, and the failure of the next partition, to the session. Partials that are
// too large for a report are held, or written to storage first.
func (s *slot) deliver(hi uint64, failed error, then func()) {
	p := s.worker.process
	if s.clean {
		then()
		return
	}
	if s.clean = hi == s.next; !s.clean {
		p.sim.cover("seen: slot kept some of what it had done")
	}
	partials, err := s.stack.Drain(hi)
	if err != nil {
		p.sim.fail("drain the stack of a slot: %v", err)
		return
	}
	items := make([]wire.Item, len(partials))
	large := false
	var held []heldNode
	for i, part := range partials {
		mayReport := s.task.opening.MayReport(len(part.Data))
		if !mayReport && s.worker.session.MayHold(len(held)) {
			if len(part.Data) <= wire.MaxInline {
				p.sim.cover("seen: partial held because of many slots")
			}
			items[i] = wire.Item{Held: &part.Node}
			held = append(held, heldNode{part.Node, part.Data})
			continue
		}
		partial := wire.NewPartial(part.Node, part.Data)
		items[i] = wire.Item{Partial: &partial}
		large = large || !mayReport
	}
	if large {
		p.sim.cover("seen: partial too large for a report")
		s.store(partials, items, func() { s.enter(hi, failed, items, held, then) })
		return
	}
	s.enter(hi, failed, items, held, then)
}

func (s *slot) enter(hi uint64, failed error, items []wire.Item, held []heldNode, then func()) {
	w := s.worker
	p := w.process
	next := s.next
	if failed != nil {
		items = append(items, wire.Item{Failure: &wire.Failure{Partition: next, Error: failed.Error(), Permanent: jobs.IsPermanent(failed)}})
		next++
		hi = next
	}
	before, _ := w.session.Kept()
	var nodes []wire.HeldNode
	for _, h := range held {
		nodes = append(nodes, described(h.node, h.data, 0))
		if w.session.Holds(s.span) {
			w.holds(s.task.job.spec.ID, h.node, h.data, false, false)
		}
	}
	if err := w.session.Deliver(s.span, hi, next, items, nodes...); err != nil {
		p.sim.fail("%s delivers: %v", p.name, err)
	}
	s.stop = false
	if after, _ := w.session.Kept(); after > before {
		p.sim.checks.delivered(p, s.task.job, items)
	}
	w.called()
	if p.alive {
		then()
	}
}

// store writes the large partials of items to storage, until the job ends.
func (s *slot) store(partials []engine.Partial, items []wire.Item, then func()) {
	w := s.worker
	p := w.process
	ctx, id := s.task.ctx, s.task.job.spec.ID
	var written []string
	p.spawn(func() {
		for i, part := range partials {
			for items[i].Held == nil && !s.task.opening.MayReport(len(part.Data)) && ctx.Err() == nil {
				blob, err := p.store.PutPartial(ctx, id, part.Node, part.Data)
				if written = append(written, blob); err == nil {
					items[i] = wire.Item{Partial: &wire.Partial{Node: part.Node, Blob: blob, Size: uint64(len(part.Data))}}
					break
				}
				p.pause(ctx, 100*time.Millisecond)
			}
		}
	}, func() {
		if ctx.Err() != nil { // the context is done when the job has ended
			w.dropPartials(id, written)
			s.release()
			return
		}
		then()
	})
}

func (s *slot) release() {
	w := s.worker
	w.session.Release(s.span)
	s.span, s.task, s.stack, s.stop = nil, nil, nil, false
	w.fill()
	w.called()
}

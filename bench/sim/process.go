package sim

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// process is one machine's process, from its start to its end. One that starts
// anew is another process: it has another name.
type process struct {
	sim   *Sim
	name  string
	alive bool
	life  uint64 // unlike that of any other; 0 once it is over
	log   *slog.Logger

	started time.Duration
	rate    float64       // of its clock
	offset  time.Duration // of its wall clock

	stalled        bool
	backlog        []func()      // what happened meanwhile
	linked         bool          // to NATS, as the process knows
	ghostUntil     time.Duration // until when NATS believes that it is there, though its host is gone
	stableFrom     time.Duration // on its clock: what was not heard before is no evidence
	cutFromStorage bool
	coroutines     []*coroutine

	knows     []jobs.Job // the versions of the definition that it has
	store     *store.Store
	candidate *candidate // nil for a client
	worker    *worker
}

func (s *Sim) newProcess(name string) *process {
	s.lives++
	p := &process{
		sim: s, name: name, alive: true, life: s.lives, linked: true,
		started: s.now, rate: 1, offset: s.chance.between(-time.Hour, time.Hour),
	}
	if s.scenario.skew > 0 {
		s.hit("fault: clock runs at another rate")
		p.rate = 1 + s.scenario.skew*(2*s.chance.Float64()-1)
	}
	p.log = s.trace.logger(p)
	p.store = store.New(store.Config{Blobs: &blobs{p}, Queue: &queue{p}, Logger: p.log})
	s.processes = append(s.processes, p)
	return p
}

// join starts a worker process.
func (s *Sim) join() *process {
	s.joined++
	p := s.newProcess(fmt.Sprintf("w%d", s.joined))
	p.linked = s.network.up
	p.knows = s.versions
	if s.chance.is(s.scenario.old) {
		s.hit("seen: process that knows the old version alone")
		p.knows = s.versions[:1]
	}
	p.worker = newWorker(p, s.chance.from(1, s.scenario.maxSlots))
	p.candidate = newCandidate(p)
	s.trace.printf(p, "starts with %d slots", len(p.worker.slots))
	p.candidate.begin()
	p.worker.begin()
	return p
}

// named is the process of that name.
func (s *Sim) named(name string) *process {
	i := slices.IndexFunc(s.processes, func(p *process) bool { return p.name == name })
	return s.processes[i]
}

// local is the process's monotonic clock.
func (p *process) local() time.Duration {
	return time.Duration(float64(p.sim.now-p.started) * p.rate)
}

// wall is its wall clock.
func (p *process) wall() time.Time {
	return time.Unix(1_700_000_000, 0).Add(p.offset + p.started + p.local())
}

// timer has something happen once d has passed on the process's clock.
func (p *process) timer(d time.Duration, do func()) {
	life := p.life
	if d > 0 {
		d = time.Duration(float64(d)/p.rate) + 1 // not before, whatever is rounded
	}
	p.sim.after(d, func() { p.happen(life, do) })
}

// happen lets something happen to a process: at once, or when it goes on if it
// is stalled, or not at all if that life of it is over.
func (p *process) happen(life uint64, do func()) {
	switch {
	case !p.alive || p.life != life:
	case p.stalled:
		p.backlog = append(p.backlog, func() { p.happen(life, do) })
	default:
		do()
	}
}

// crash ends the process here and now.
func (p *process) crash() {
	p.sim.killed = true
	p.sim.checks.died(p)
	p.end()
	for _, t := range p.coroutines {
		t.stop()
	}
	p.coroutines = nil
}

// end ends the process.
func (p *process) end() {
	p.alive, p.life, p.backlog = false, 0, nil
	p.stalled = false
}

// goOn continues it. What it missed happens in the order in which it came.
func (p *process) goOn() {
	if !p.stalled {
		return
	}
	p.stalled = false
	for len(p.backlog) > 0 && !p.stalled && p.alive {
		next := p.backlog[0]
		p.backlog = p.backlog[1:]
		next()
	}
}

// terminate tells the process to stop of its own accord: it drains, then its
// election ends.
func (p *process) terminate() {
	life := p.life
	p.happen(life, func() { p.worker.drain() })
}

// stepDown tells the process to stop leading, if it leads.
func (p *process) stepDown() {
	if p.leads() > 0 {
		p.happen(p.life, func() {
			if p.leads() > 0 {
				p.candidate.term.stop()
			}
		})
	}
}

// leave is the end of a process that has come to its end.
func (p *process) leave() {
	p.sim.trace.printf(p, "has ended")
	p.end()
}

package sim

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// process is one simulated process. A restarted process is a new process with a new name.
type process struct {
	sim   *Sim
	name  string
	alive bool
	life  uint64 // unique number of the process; 0 after the process has ended
	log   *slog.Logger

	started time.Duration
	ended   time.Duration // time at which the process ended, valid only if it is not alive
	rate    float64       // speed of the monotonic clock; 1 is the true speed
	offset  time.Duration // error of the wall clock when the process starts

	stalled        bool
	backlog        []func()      // events that wait for the end of the process's stall
	connected      bool          // true if the process believes that it is connected to NATS
	ghostUntil     time.Duration // time until which NATS believes that the process is connected, although its host is gone
	stableFrom     time.Duration // time on the process's clock before which silence does not count as evidence of a dead process
	cutFromStorage bool
	broken         bool // true if all partitions fail at once on the process, as on a machine without free file descriptors
	coroutines     []*coroutine

	storage *storage
	knows   []jobs.Job // versions of the job definition that the process knows
	store   *store.Store
	elector *elector // elector of the process; nil for a client
	worker  *worker
}

func (s *Sim) newProcess(name string, on *storage) *process {
	s.lives++
	p := &process{
		sim: s, name: name, storage: on, alive: true, life: s.lives, connected: true,
		started: s.now, rate: 1, offset: s.rng.between(-time.Hour, time.Hour),
	}
	if s.scenario.skew > 0 {
		s.cover("fault: clock runs at another rate")
		p.rate = 1 + s.scenario.skew*(2*s.rng.Float64()-1)
	}
	p.log = s.trace.logger(p)
	p.store = store.New(store.Config{Blobs: &blobs{p}, Queue: &queue{p}, Logger: p.log})
	s.processes = append(s.processes, p)
	return p
}

func (s *Sim) join() *process { return s.joinOn(s.storage) }

func (s *Sim) joinOn(on *storage) *process {
	s.joined++
	p := s.newProcess(fmt.Sprintf("w%d", s.joined), on)
	p.connected = s.network.up
	p.knows = s.versions
	if s.rng.chance(s.scenario.oldShare) {
		s.cover("seen: process that knows only the old version")
		p.knows = s.versions[:1]
	}
	p.worker = newWorker(p, s.rng.intBetween(1, s.scenario.maxSlots))
	p.elector = newElector(p)
	s.trace.printf(p, "starts with %d slots", len(p.worker.slots))
	p.elector.begin()
	p.worker.begin()
	return p
}

func (s *Sim) named(name string) *process {
	i := slices.IndexFunc(s.processes, func(p *process) bool { return p.name == name })
	return s.processes[i]
}

// clock returns the time on the process's monotonic clock.
func (p *process) clock() time.Duration {
	return time.Duration(float64(p.sim.now-p.started) * p.rate)
}

func (p *process) wallClock() time.Time {
	return time.Unix(1_700_000_000, 0).Add(p.offset + p.started + p.clock())
}

// timer calls a function after the time d on the process's clock, unless the process has ended by then.
func (p *process) timer(d time.Duration, do func()) {
	life := p.life
	if d > 0 {
		d = time.Duration(float64(d)/p.rate) + 1 // rounding must not make the timer fire too early
	}
	p.sim.after(d, func() { p.run(life, do) })
}

// run runs an event of a living process, after the stall if the process is stalled.
func (p *process) run(life uint64, do func()) {
	switch {
	case !p.alive || p.life != life:
	case p.stalled:
		p.backlog = append(p.backlog, func() { p.run(life, do) })
	default:
		do()
	}
}

// crash ends the process at once, as SIGKILL does.
func (p *process) crash() {
	p.sim.killed = true
	p.sim.checks.died(p)
	p.end()
	for _, t := range p.coroutines {
		t.stop()
	}
	p.coroutines = nil
}

// end marks the process as ended, so that its remaining events do not run.
func (p *process) end() {
	p.alive, p.life, p.backlog, p.ended = false, 0, nil, p.sim.now
	p.stalled = false
}

// resume ends a stall and runs the events that waited for its end, in order.
func (p *process) resume() {
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

// terminate tells the process to drain and leave, as SIGTERM does.
func (p *process) terminate() {
	life := p.life
	p.run(life, func() { p.worker.drain() })
}

func (p *process) stepDown() {
	if p.leads() > 0 {
		p.run(p.life, func() {
			if p.leads() > 0 {
				p.elector.term.stop()
			}
		})
	}
}

func (p *process) exit() {
	p.sim.trace.printf(p, "has ended")
	p.end()
}

// definitions returns the job definitions that the process knows.
func (p *process) definitions() []jobs.Job { return append(slices.Clone(p.knows), p.sim.iterated) }

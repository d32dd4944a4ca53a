package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

type fault struct {
	name string
	calm bool // true if the fault can also happen in calm scenarios
	do   func(s *Sim)
}

// faultKinds lists every kind of fault. Each kind is equally likely.
var faultKinds = []fault{
	{"process killed", true, func(s *Sim) { s.kill(s.anyWorker()) }},
	{"leader killed", true, func(s *Sim) { s.kill(s.anyLeader()) }},
	{"leader killed", true, func(s *Sim) { s.kill(s.anyLeader()) }},
	{"holder of partials killed", true, func(s *Sim) { s.kill(s.anyHolder()) }},
	{"process told to stop", true, func(s *Sim) { s.anyWorker().terminate() }},
	{"leader told to stop", true, func(s *Sim) { s.anyLeader().terminate() }},
	{"leader told to step down", true, func(s *Sim) { s.anyLeader().stepDown() }},
	{"process joins", true, func(s *Sim) { s.join() }},
	{"host lost", false, func(s *Sim) { s.lose(s.anyLeader()) }},
	{"process stalled", false, func(s *Sim) { s.stall(s.anyWorker()) }},
	{"leader stalled", false, func(s *Sim) { s.stall(s.anyLeader()) }},
	{"one-way partition", false, func(s *Sim) { s.partition(false, dropsAll) }},
	{"two-way partition", false, func(s *Sim) { s.partition(true, dropsAll) }},
	{"NATS servers apart", false, func(s *Sim) { s.partition(true, noRoute) }},
	{"process cut off from NATS", false, func(s *Sim) { s.disconnect(s.anyWorker()) }},
	{"leader cut off from NATS", false, func(s *Sim) { s.disconnect(s.anyLeader()) }},
	{"holder of partials cut off from NATS", false, func(s *Sim) { s.disconnect(s.anyHolder()) }},
	{"process cut off from storage", false, func(s *Sim) { s.cutFromStorage(s.anyWorker()) }},
	{"leader cut off from storage", false, func(s *Sim) { s.cutFromStorage(s.anyLeader()) }},
	{"NATS outage", false, (*Sim).natsOutage},
	{"storage outage", false, (*Sim).storageOutage},
	{"everything killed", true, (*Sim).killAll},
	{"process on another storage joins", false, (*Sim).joinOther},
	{"worker short of memory", true, func(s *Sim) { s.anyHolder().worker.loses(true) }},
	{"spill folder full", true, func(s *Sim) { s.anyHolder().worker.fillsFolder() }},
	{"worker loses a held partial", false, func(s *Sim) { s.anyHolder().worker.loses(false) }},
	{"beacon of an epoch that no leader has", false, (*Sim).highBeacon},
}

// nemesis causes a fault and schedules the next one, or ends all faults when the scenario's time is over.
func (s *Sim) nemesis() {
	if s.now >= s.scenario.faultsUntil {
		s.heal()
		return
	}
	f := faultKinds[s.rng.IntN(len(faultKinds))]
	if s.scenario.evicts {
		f = faultKinds[0]
	}
	if (f.calm || !s.scenario.calm) && !s.scenario.breaks && s.joined < s.scenario.maxProcesses && len(s.workers()) > 0 {
		s.cover("fault: " + f.name)
		s.trace.printf(nil, "FAULT: %s", f.name)
		f.do(s)
	}
	s.after(min(s.scenario.faultsUntil-s.now, s.rng.logBetween(s.scenario.faultEvery/4, 2*s.scenario.faultEvery)), s.nemesis)
}

// heal ends all faults.
func (s *Sim) heal() {
	s.trace.printf(nil, "faults stop")
	s.healed = true
	s.rates = faultRates{}
	s.network.up, s.storage.up = true, true
	clear(s.network.faults)
	for _, p := range s.processes {
		p.cutFromStorage = false
		if p.alive {
			if p.worker != nil {
				p.worker.emptiesFolder()
			}
			s.reconnect(p)
			p.resume()
		}
	}
	s.scenario.oldShare = 0
	if !s.complete() {
		s.join()
	}
}

// complete reports whether at least one worker process knows all versions of the job definition.
func (s *Sim) complete() bool {
	return slices.ContainsFunc(s.workers(), func(p *process) bool { return len(p.knows) == len(s.versions) })
}

// workers lists the workers that are alive, do not drain, and use the storage of most processes.
func (s *Sim) workers() []*process {
	var list []*process
	for _, p := range s.processes {
		if p.alive && p.worker != nil && p.storage == s.storage && !p.worker.session.Draining() {
			list = append(list, p)
		}
	}
	return list
}

func (s *Sim) anyWorker() *process { return s.anyOf(func(*process) bool { return true }) }

func (s *Sim) anyHolder() *process {
	return s.anyOf(func(p *process) bool {
		nodes, _ := p.worker.session.Held()
		return nodes > 0
	})
}

func (s *Sim) anyLeader() *process { return s.anyOf(func(p *process) bool { return p.leads() > 0 }) }

// anyOf returns a worker process for which fits returns true, or any worker process if none fits.
func (s *Sim) anyOf(fits func(*process) bool) *process {
	list := s.workers()
	if fitting := slices.DeleteFunc(slices.Clone(list), func(p *process) bool { return !fits(p) }); len(fitting) > 0 {
		list = fitting
	}
	return list[s.rng.IntN(len(list))]
}

// faultDuration returns mostly short times, and some that are longer than the lease.
func (s *Sim) faultDuration() time.Duration {
	return s.rng.logBetween(50*time.Millisecond, 2*s.scenario.lease)
}

// kill ends a process, as SIGKILL does. A new process may replace the killed process.
func (s *Sim) kill(p *process) {
	if !p.alive {
		return
	}
	s.trace.printf(p, "KILLED")
	p.crash()
	s.replace()
}

func (s *Sim) replace() {
	if s.rng.chance(0.8) || s.scenario.evicts || len(s.workers()) == 0 || s.healed && !s.complete() {
		s.after(s.rng.logBetween(20*time.Millisecond, 3*time.Second), func() { s.join() })
	}
}

func (s *Sim) killAll() {
	for _, p := range s.workers() {
		s.trace.printf(p, "KILLED")
		p.crash()
	}
	for range s.rng.intBetween(1, s.scenario.processes) {
		s.after(s.rng.logBetween(20*time.Millisecond, 3*time.Second), func() { s.join() })
	}
}

// lose ends a process together with its host. The process's connection is therefore not closed, and
// NATS believes for a while that the process is still connected.
func (s *Sim) lose(p *process) {
	p.ghostUntil = s.now + s.faultDuration()
	s.kill(p)
}

func (s *Sim) stall(p *process) {
	s.trace.printf(p, "STALLED")
	p.stalled = true
	life := p.life
	s.after(s.faultDuration(), func() {
		if p.life == life {
			s.trace.printf(p, "RESUMES")
			p.resume()
		}
	})
}

// partition makes the link between two processes fail for a while, in one direction or in both.
func (s *Sim) partition(both bool, how linkFault) {
	a, b := s.anyLeader(), s.anyWorker()
	if s.rng.chance(0.5) {
		a, b = b, a
	}
	if a == b {
		return
	}
	s.trace.printf(nil, "PARTITIONED %s from %s", a.name, b.name)
	s.network.setFault(a, b, how)
	if both {
		s.network.setFault(b, a, how)
	}
	s.after(s.faultDuration(), func() {
		s.network.setFault(a, b, 0)
		s.network.setFault(b, a, 0)
	})
}

func (s *Sim) disconnect(p *process) {
	s.isolate(p, s.faultDuration())
}

// isolate cuts a process off from NATS for the given time.
func (s *Sim) isolate(p *process, lasts time.Duration) {
	s.trace.printf(p, "CUT OFF from NATS")
	s.dropConnection(p)
	life := p.life
	s.after(lasts, func() {
		if p.life == life && s.network.up {
			s.reconnect(p)
		}
	})
}

// isolateHolder waits until a worker holds a partial that contains the job's partition sours. Then isolateHolder
// cuts the worker off for so long that the leader regards it as dead, and other workers run the partition again. Half of
// these workers write their partials to storage while they are cut off.
func (s *Sim) isolateHolder(j *job) {
	if s.healed {
		return
	}
	for _, p := range s.workers() {
		for _, n := range p.worker.nodes(j.spec.ID) {
			if span := j.tree.Span(n); n.Level == 0 || !span.Contains(engine.Span{Lo: j.sours, Hi: j.sours + 1}) {
				continue
			}
			s.cover("fault: holder of a partition that is skipped isolated")
			s.isolate(p, s.scenario.ledger.SilentAfter+s.rng.between(0, 4*time.Second))
			if s.rng.chance(0.5) {
				p.worker.fillsFolder() // the worker writes the partial to storage
			}
			return
		}
	}
	s.after(20*time.Millisecond, func() { s.isolateHolder(j) })
}

func (s *Sim) cutFromStorage(p *process) {
	s.trace.printf(p, "CUT OFF from storage")
	p.cutFromStorage = true
	s.after(s.faultDuration(), func() { p.cutFromStorage = false })
}

// natsOutage ends all NATS connections for a while. The processes reconnect at different times.
func (s *Sim) natsOutage() {
	s.network.up = false
	for _, p := range s.processes {
		if p.alive {
			s.dropConnection(p)
		}
	}
	s.after(s.faultDuration(), func() {
		s.network.up = true
		for _, p := range s.processes {
			life := p.life
			if p.alive {
				s.after(s.rng.between(0, time.Second), func() {
					if p.life == life {
						s.reconnect(p)
					}
				})
			}
		}
	})
}

func (s *Sim) storageOutage() {
	s.storage.up = false
	s.after(s.faultDuration(), func() { s.storage.up = true })
}

// dropConnection ends the NATS connection of a process, and notifies the process.
func (s *Sim) dropConnection(p *process) {
	if !p.connected {
		return
	}
	p.connected = false
	if p.elector != nil {
		p.run(p.life, p.elector.disconnected)
	}
}

// reconnect restores a process's NATS connection.
func (s *Sim) reconnect(p *process) {
	if p.connected || !s.network.up {
		return
	}
	p.connected = true
	if p.elector != nil {
		p.run(p.life, p.elector.reconnected)
	}
}

// joinOther starts a process that uses another storage, on which it leads until the end. Its epoch may be equal
// to that of one of the cluster's leaders.
func (s *Sim) joinOther() {
	for range s.rng.intBetween(0, 3) {
		held, err := s.other.lease.acquire(election.Claim{Holder: "gone", LeaseID: "gone"})
		if err != nil {
			break // a process that joined the other storage earlier holds the lease
		}
		if err := s.other.lease.lease.Release(context.Background(), held); err != nil {
			panic(fmt.Errorf("release the other storage's lease: %w", err)) // cannot happen: storage refuses only a lease that is not held, and this lease was just acquired
		}
	}
	s.joinOn(s.other)
}

// highBeacon sends all processes a beacon with an epoch that no leader has yet. The next leader may
// get the epoch of the false beacon.
func (s *Sim) highBeacon() {
	record, _ := s.storage.lease.read()
	b := wire.Beacon{Epoch: record.Epoch + 1, Worker: "nobody", LeaseID: "none", Next: time.Second}
	switch s.rng.IntN(3) {
	case 0:
		b.Epoch += s.rng.Uint64N(5)
	case 1:
		b.Epoch, b.Storage = wire.MaxEpoch, s.storage.identity
	}
	s.checks.invented[b.Epoch] = true
	s.network.broadcast(s.named("cli"), func(to *process) { to.elector.heard(b) })
}

package sim

import (
	"slices"
	"time"
)

// fault is something that is done to the cluster while it works.
type fault struct {
	name string
	calm bool // also in a calm scenario
	do   func(s *Sim)
}

// every fault. Each is drawn as often as any other.
var every = []fault{
	{"process killed", true, func(s *Sim) { s.kill(s.anyWorker()) }},
	{"leader killed", true, func(s *Sim) { s.kill(s.anyLeader()) }},
	{"leader killed", true, func(s *Sim) { s.kill(s.anyLeader()) }},
	{"process told to stop", true, func(s *Sim) { s.anyWorker().terminate() }},
	{"leader told to stop", true, func(s *Sim) { s.anyLeader().terminate() }},
	{"leader told to step down", true, func(s *Sim) { s.anyLeader().stepDown() }},
	{"process joins", true, func(s *Sim) { s.join() }},
	{"host lost", false, func(s *Sim) { s.lose(s.anyLeader()) }},
	{"process stalled", false, func(s *Sim) { s.stall(s.anyWorker()) }},
	{"leader stalled", false, func(s *Sim) { s.stall(s.anyLeader()) }},
	{"one-way partition", false, func(s *Sim) { s.partition(false, mute) }},
	{"two-way partition", false, func(s *Sim) { s.partition(true, mute) }},
	{"NATS servers apart", false, func(s *Sim) { s.partition(true, apart) }},
	{"process cut off from NATS", false, func(s *Sim) { s.unlink(s.anyWorker()) }},
	{"leader cut off from NATS", false, func(s *Sim) { s.unlink(s.anyLeader()) }},
	{"process cut off from storage", false, func(s *Sim) { s.cutFromStorage(s.anyWorker()) }},
	{"leader cut off from storage", false, func(s *Sim) { s.cutFromStorage(s.anyLeader()) }},
	{"NATS outage", false, (*Sim).natsOutage},
	{"storage outage", false, (*Sim).storageOutage},
	{"everything killed", true, (*Sim).killAll},
}

// plague does one fault after another until they are to stop.
func (s *Sim) plague() {
	if s.now >= s.scenario.until {
		s.heal()
		return
	}
	f := every[s.chance.IntN(len(every))]
	if (f.calm || !s.scenario.calm) && s.joined < s.scenario.most && len(s.workers()) > 0 {
		s.hit("fault: " + f.name)
		s.trace.printf(nil, "FAULT: %s", f.name)
		f.do(s)
	}
	s.after(min(s.scenario.until-s.now, s.chance.spread(s.scenario.faultEvery/4, 2*s.scenario.faultEvery)), s.plague)
}

// heal ends all faults.
func (s *Sim) heal() {
	s.trace.printf(nil, "faults stop")
	s.healed = true
	s.faults = faults{}
	s.network.up, s.storage.up = true, true
	clear(s.network.cuts)
	for _, p := range s.processes {
		p.cutFromStorage = false
		if p.alive {
			s.relink(p)
			p.goOn()
		}
	}
	s.scenario.old = 0
	if !s.complete() {
		s.join()
	}
}

// complete reports whether some worker process knows every version of the
// definition.
func (s *Sim) complete() bool {
	return slices.ContainsFunc(s.workers(), func(p *process) bool { return len(p.knows) == len(s.versions) })
}

// workers are the worker processes that are there and not about to end.
func (s *Sim) workers() []*process {
	var list []*process
	for _, p := range s.processes {
		if p.alive && p.worker != nil && !p.worker.session.Draining() {
			list = append(list, p)
		}
	}
	return list
}

func (s *Sim) anyWorker() *process {
	list := s.workers()
	return list[s.chance.IntN(len(list))]
}

// anyLeader is a process that leads, or else any.
func (s *Sim) anyLeader() *process {
	var leaders []*process
	for _, p := range s.workers() {
		if p.leads() > 0 {
			leaders = append(leaders, p)
		}
	}
	if len(leaders) == 0 {
		return s.anyWorker()
	}
	return leaders[s.chance.IntN(len(leaders))]
}

// aWhile is how long a fault lasts: mostly short, sometimes past the lease.
func (s *Sim) aWhile() time.Duration { return s.chance.spread(50*time.Millisecond, 2*s.scenario.lease) }

// kill ends a process, as SIGKILL does. Another may take its place.
func (s *Sim) kill(p *process) {
	if !p.alive {
		return
	}
	s.trace.printf(p, "KILLED")
	p.crash()
	s.replace()
}

func (s *Sim) replace() {
	if s.chance.is(0.8) || len(s.workers()) == 0 || s.healed && !s.complete() {
		s.after(s.chance.spread(20*time.Millisecond, 3*time.Second), func() { s.join() })
	}
}

func (s *Sim) killAll() {
	for _, p := range s.workers() {
		s.trace.printf(p, "KILLED")
		p.crash()
	}
	for range s.chance.from(1, s.scenario.processes) {
		s.after(s.chance.spread(20*time.Millisecond, 3*time.Second), func() { s.join() })
	}
}

// lose ends a process with its host: NATS notices late.
func (s *Sim) lose(p *process) {
	p.ghostUntil = s.now + s.aWhile()
	s.kill(p)
}

func (s *Sim) stall(p *process) {
	s.trace.printf(p, "STALLED")
	p.stalled = true
	life := p.life
	s.after(s.aWhile(), func() {
		if p.life == life {
			s.trace.printf(p, "GOES ON")
			p.goOn()
		}
	})
}

// partition parts two processes for a while, or one in one direction.
func (s *Sim) partition(both bool, how cut) {
	a, b := s.anyLeader(), s.anyWorker()
	if s.chance.is(0.5) {
		a, b = b, a
	}
	if a == b {
		return
	}
	s.trace.printf(nil, "PARTED %s from %s", a.name, b.name)
	s.network.cutOff(a, b, how)
	if both {
		s.network.cutOff(b, a, how)
	}
	s.after(s.aWhile(), func() {
		s.network.cutOff(a, b, 0)
		s.network.cutOff(b, a, 0)
	})
}

func (s *Sim) unlink(p *process) {
	s.trace.printf(p, "CUT OFF from NATS")
	s.drop(p)
	life := p.life
	s.after(s.aWhile(), func() {
		if p.life == life && s.network.up {
			s.relink(p)
		}
	})
}

func (s *Sim) cutFromStorage(p *process) {
	s.trace.printf(p, "CUT OFF from storage")
	p.cutFromStorage = true
	s.after(s.aWhile(), func() { p.cutFromStorage = false })
}

// natsOutage ends every connection. They come back one by one.
func (s *Sim) natsOutage() {
	s.network.up = false
	for _, p := range s.processes {
		if p.alive {
			s.drop(p)
		}
	}
	s.after(s.aWhile(), func() {
		s.network.up = true
		for _, p := range s.processes {
			life := p.life
			if p.alive {
				s.after(s.chance.between(0, time.Second), func() {
					if p.life == life {
						s.relink(p)
					}
				})
			}
		}
	})
}

func (s *Sim) storageOutage() {
	s.storage.up = false
	s.after(s.aWhile(), func() { s.storage.up = true })
}

// drop ends a process's connection, which it notices.
func (s *Sim) drop(p *process) {
	if !p.linked {
		return
	}
	p.linked = false
	if p.candidate != nil {
		p.happen(p.life, p.candidate.unlinked)
	}
}

// relink brings it back.
func (s *Sim) relink(p *process) {
	if p.linked || !s.network.up {
		return
	}
	p.linked = true
	if p.candidate != nil {
		p.happen(p.life, p.candidate.relinked)
	}
}

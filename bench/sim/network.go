package sim

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// network carries messages between processes as NATS does: what nobody listens
// for is lost, and whoever asks then hears that at once.
type network struct {
	sim  *Sim
	up   bool
	cuts map[[2]*process]cut
	last map[[2]*process]time.Duration // when the last message from one to another arrives
}

// cut is what is wrong between two processes, in one direction.
type cut uint8

const (
	mute  cut = iota + 1 // messages vanish
	apart                // NATS servers have lost each other: nobody seems to listen
)

// cutOff sets what is wrong from one process to another; 0 is nothing.
func (n *network) cutOff(from, to *process, c cut) {
	if c == 0 {
		delete(n.cuts, [2]*process{from, to})
	} else {
		n.cuts[[2]*process{from, to}] = c
	}
}

// linked reports whether a process has a connection.
func (n *network) linked(p *process) bool { return n.up && p.linked }

// delay is how long a message is under way.
func (n *network) delay() time.Duration {
	s := n.sim
	d := s.chance.between(s.scenario.latency/4, s.scenario.latency)
	if s.chance.is(s.faults.slowMessages) {
		s.hit("fault: message delayed")
		d += s.chance.spread(s.scenario.latency, 3*time.Second)
	}
	return d
}

// send carries a message, or loses it, or carries it twice.
func (n *network) send(from, to *process, deliver func()) {
	s := n.sim
	if !n.linked(from) || n.cuts[[2]*process{from, to}] != 0 || s.lost() {
		return
	}
	life := to.life
	arrive := func() {
		if n.linked(to) {
			to.happen(life, deliver)
		}
	}
	d := n.delay()
	if pair := [2]*process{from, to}; s.now+d < n.last[pair] {
		s.hit("fault: message overtook another")
	} else {
		n.last[pair] = s.now + d
	}
	s.after(d, arrive)
	if s.chance.is(s.faults.duplicates) {
		s.hit("fault: message duplicated")
		s.after(n.delay(), arrive)
	}
}

// lost reports whether a message is lost.
func (s *Sim) lost() bool {
	if !s.chance.is(s.faults.loss) {
		return false
	}
	s.hit("fault: message lost")
	return true
}

// all carries a message from one process to all others.
func (n *network) all(from *process, deliver func(to *process)) {
	for _, to := range n.sim.processes {
		if to != from && to.worker != nil && to.alive {
			n.send(from, to, func() { deliver(to) })
		}
	}
}

// ask carries a question to the processes that listen. Each gets it with a way
// to answer; where NATS sees nobody, nobody is called.
func (n *network) ask(from *process, listens func(*process) bool, deliver func(to *process, answer func(func())), nobody func()) {
	if !n.linked(from) {
		return
	}
	heard := false
	for _, to := range n.sim.processes {
		if !n.registered(to) || !listens(to) || n.cuts[[2]*process{from, to}] == apart {
			continue
		}
		heard = true
		n.send(from, to, func() {
			if listens(to) {
				deliver(to, func(reply func()) { n.send(to, from, reply) })
			}
		})
	}
	if heard {
		return
	}
	life := from.life
	n.sim.after(n.delay(), func() {
		if n.linked(from) {
			from.happen(life, nobody)
		}
	})
}

// throughWire is a message as it arrives: encoded and decoded, in those
// simulations that do.
func throughWire[T wire.Report | wire.Receipt](s *Sim, message T) T {
	if !s.scenario.encodes {
		return message
	}
	received, err := wire.Decode[T](wire.Encode(message))
	if err != nil {
		s.fail("decode %T: %v", message, err)
	}
	if r, ok := any(received).(wire.Report); ok && r.Validate() != nil {
		s.fail("a report is refused: %v", r.Validate())
	}
	return received
}

// registered reports whether NATS believes that a process is there.
func (n *network) registered(p *process) bool {
	return n.linked(p) && (p.alive || n.sim.now < p.ghostUntil)
}

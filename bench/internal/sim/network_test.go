package sim

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// network carries messages as NATS does: without a subscriber a message is lost, and a request fails at once.
type network struct {
	sim    *Sim
	up     bool
	faults map[[2]*process]linkFault
	last   map[[2]*process]time.Duration // arrival time of the last message, by sender and receiver
}

type linkFault uint8

const (
	dropsAll linkFault = iota + 1 // the link drops all messages
	noRoute                       // the NATS servers of the two processes are disconnected, so NATS sees no subscriber
)

// setFault sets the fault of the link from one process to another. The fault 0 means that the link works.
func (n *network) setFault(from, to *process, f linkFault) {
	if f == 0 {
		delete(n.faults, [2]*process{from, to})
	} else {
		n.faults[[2]*process{from, to}] = f
	}
}

func (n *network) connected(p *process) bool { return n.up && p.connected }

func (n *network) delay() time.Duration {
	s := n.sim
	d := s.rng.between(s.scenario.latency/4, s.scenario.latency)
	if s.rng.chance(s.rates.slowMessages) {
		s.cover("fault: message delayed")
		d += s.rng.logBetween(s.scenario.latency, 3*time.Second)
	}
	return d
}

// send delivers a message after a delay. Sometimes the message is lost, and sometimes it is delivered twice.
func (n *network) send(from, to *process, deliver func()) {
	s := n.sim
	if !n.connected(from) || n.faults[[2]*process{from, to}] != 0 || s.lost() {
		return
	}
	life := to.life
	arrive := func() {
		if n.connected(to) {
			to.run(life, deliver)
		}
	}
	d := n.delay()
	if pair := [2]*process{from, to}; s.now+d < n.last[pair] {
		s.cover("fault: message overtook another")
	} else {
		n.last[pair] = s.now + d
	}
	s.after(d, arrive)
	if s.rng.chance(s.rates.duplicates) {
		s.cover("fault: message duplicated")
		s.after(n.delay(), arrive)
	}
}

func (s *Sim) lost() bool {
	if !s.rng.chance(s.rates.loss) {
		return false
	}
	s.cover("fault: message lost")
	return true
}

func (n *network) broadcast(from *process, deliver func(to *process)) {
	for _, to := range n.sim.processes {
		if to != from && to.worker != nil && to.alive {
			n.send(from, to, func() { deliver(to) })
		}
	}
}

// request carries a request to the subscribed processes, and calls deliver with a function that replies. If NATS
// knows no subscriber, it calls noResponders.
func (n *network) request(from *process, subscribes func(*process) bool, deliver func(to *process, reply func(func())), noResponders func()) {
	if !n.connected(from) {
		return
	}
	subscribers := false
	for _, to := range n.sim.processes {
		if !n.registered(to) || !subscribes(to) || n.faults[[2]*process{from, to}] == noRoute {
			continue
		}
		subscribers = true
		n.send(from, to, func() {
			if subscribes(to) {
				deliver(to, func(received func()) { n.send(to, from, received) })
			}
		})
	}
	if subscribers {
		return
	}
	life := from.life
	n.sim.after(n.delay(), func() {
		if n.connected(from) {
			from.run(life, noResponders)
		}
	})
}

// registered reports whether NATS believes that a process is connected.
func (n *network) registered(p *process) bool {
	return n.connected(p) && (p.alive || n.sim.now < p.ghostUntil)
}

// throughWire simulates the transport of a message. In simulations that include the wire format, the message is
// encoded and decoded.
func throughWire[T wire.Report | wire.Receipt](s *Sim, message T) T {
	if !s.scenario.encodes {
		return message
	}
	received, err := wire.Decode[T](wire.Encode(message))
	if err != nil {
		s.fail("decode %T: %v", message, err)
	}
	return received
}

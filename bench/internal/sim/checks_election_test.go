package sim

import (
	"time"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/machine"
)

// acquired is called when storage grants or renews the lease. Each new holder must get the next epoch.
func (c *checks) acquired(r election.Record, expires time.Duration) {
	t := c.terms[r.Epoch]
	if t == nil {
		t = &observedTerm{holder: r.Holder}
		c.terms[r.Epoch] = t
		if r.Epoch != uint64(len(c.terms)) {
			c.sim.fail("the lease's epoch went to %d, the %dth in a row", r.Epoch, len(c.terms))
		}
	}
	if t.holder != r.Holder {
		c.sim.fail("epoch %d belongs to %s and to %s", r.Epoch, t.holder, r.Holder)
	}
	t.expires = expires
}

// changed is called when another process takes the lease before the lease has expired.
func (c *checks) changed(epoch uint64) {
	if t := c.terms[epoch]; t != nil {
		t.changed = true
	}
}

// leads is called when a process begins to lead. leads checks that storage granted the epoch to the
// process and that no process has led under that epoch before.
func (c *checks) leads(p *process, lead machine.Lead) {
	epoch := lead.Record.Epoch
	t := c.terms[epoch]
	switch {
	case t == nil:
		c.sim.fail("%s leads under epoch %d, which storage never gave", p.name, epoch)
		return
	case t.leads != nil:
		c.sim.fail("%s leads under epoch %d, which %s led", p.name, epoch, t.leads.name)
	case t.holder != p.name:
		c.sim.fail("%s leads under epoch %d, which is %s's", p.name, epoch, t.holder)
	}
	t.leads, t.since = p, c.sim.now
	if before := c.terms[epoch-1]; before != nil && before.leads != nil && before.leads.alive && lead.Cause.Crashed() {
		c.blame(before.leads) // it lives, but the new leader takes it for dead
	}
	t.unaware = lead.Workers > 0 && lead.Workers < c.reported(epoch-1, lead.Predecessor)
}

// reported returns the number of workers that have reported to the leader of an epoch and that live, including the
// leader's own.
func (c *checks) reported(epoch uint64, leader string) (workers int) {
	for _, p := range c.sim.processes {
		if c.holders[conversationOf{epoch, p.name}] != nil && (p.alive && p.worker != nil && !p.worker.left || p.name == leader) {
			workers++
		}
	}
	return workers
}

// acts is called when a process acts as the leader. Its lease must not have expired.
func (c *checks) acts(p *process, epoch uint64) {
	t := c.terms[epoch]
	if !t.changed && c.sim.now > t.expires {
		c.sim.fail("%s acts as the leader of epoch %d, %v after its lease expired", p.name, epoch, c.sim.now-t.expires)
	}
}

type followedEpoch struct {
	epoch   uint64
	granted bool // true if storage had granted the epoch when the worker began to follow it
}

// followed is called when a worker may have begun to follow an epoch. followed checks that a worker
// that follows an epoch granted by storage never follows a lower epoch. followed also checks that a
// worker follows only epochs of leaders that use the worker's storage. After an epoch that only a
// made-up beacon had, a worker may follow a lower epoch.
func (c *checks) followed(p *process, epoch uint64) {
	last := c.epochs[p]
	if epoch == last.epoch || p.storage != c.sim.storage {
		return
	}
	if epoch < last.epoch {
		c.sim.cover("seen: worker returns to the epoch in storage")
		if last.granted {
			c.sim.fail("%s follows epoch %d after %d", p.name, epoch, last.epoch)
		}
	}
	granted := c.terms[epoch] != nil
	if !granted && epoch > 0 && !c.invented[epoch] {
		c.sim.fail("%s follows epoch %d, which no leader on its storage has", p.name, epoch)
	}
	c.epochs[p] = followedEpoch{epoch, granted}
}

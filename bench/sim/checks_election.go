package sim

import (
	"time"

	"github.com/bellwether-compute/bellwether/election"
)

// acquired is called when storage grants or renews the lease. It checks that each new
// holder increases the epoch by one.
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

// leads is called when a process begins to lead. It checks that the process holds the
// epoch and that no process has led under that epoch before.
func (c *checks) leads(p *process, epoch uint64) {
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
}

// acts is called when a process acts as the leader. It checks that the process's lease
// has not expired.
func (c *checks) acts(p *process, epoch uint64) {
	t := c.terms[epoch]
	if !t.changed && c.sim.now > t.expires {
		c.sim.fail("%s acts as the leader of epoch %d, %v after its lease expired", p.name, epoch, c.sim.now-t.expires)
	}
}

// followed checks that a worker never returns to a lower epoch.
func (c *checks) followed(p *process, epoch uint64) {
	if epoch < c.epochs[p] {
		c.sim.fail("%s follows epoch %d after %d", p.name, epoch, c.epochs[p])
	}
	c.epochs[p] = epoch
}

//go:build unix

package chaos

import (
	"context"
	"sync"
	"time"
)

// runWorkload runs the clients and injects the scheduled faults. runWorkload returns when all
// clients have finished. The clients stop at most SettleWithin after the end of the faults.
func (c *cluster) runWorkload(duration time.Duration) {
	list := catalog(c.Storage)
	kinds := make(map[string]fault)
	for _, f := range list {
		kinds[f.name] = f
	}
	begun := time.Now()
	faultsEnd := begun.Add(duration)
	settleCtx, cancel := context.WithDeadline(c.ctx, faultsEnd.Add(SettleWithin))
	defer cancel()

	var clientsDone, faultsDone sync.WaitGroup
	for i := range clients {
		clientsDone.Go(func() { c.runClient(i+1, faultsEnd, settleCtx) })
	}
	for _, e := range schedule(c.Seed, list, duration) {
		c.pause(time.Until(begun.Add(e.at)))
		f := kinds[e.fault]
		if c.ctx.Err() != nil || f.on == packets && c.noNetworks != nil {
			continue
		}
		faultsDone.Go(func() { c.inject(e, f) })
	}
	faultsDone.Wait()
	for _, m := range c.allNodes() {
		m.start()
	}
	c.pause(time.Until(faultsEnd))
	c.history.note("all faults have ended")
	clientsDone.Wait()
	c.history.note("all clients are done")
}

// inject injects a fault for its duration, unless another fault is active on the target.
func (c *cluster) inject(e event, f fault) {
	c.history.plan(e)
	m, leads := c.pickNode(e, f)
	if m == nil && e.node > 0 {
		return
	}
	at := target{scope: f.on}
	target := ""
	if m != nil {
		at.node, target = m.number, m.String()
	}
	if !c.acquire(at) {
		return
	}
	defer c.release(at)
	end := f.begin(c, m)
	if end == nil {
		return
	}
	c.history.injectedFault(e, target, leads)
	c.pause(e.lasts)
	end()
}

// pickNode returns the node of a fault, and reports whether the leader runs on it. The node is nil if the fault
// affects no node, or if the node has left the cluster.
func (c *cluster) pickNode(e event, f fault) (m *node, leads bool) {
	if f.on == joining {
		m, err := c.add(e.node)
		if err != nil {
			c.history.violation("%w", err)
		}
		return m, false
	}
	if e.leader {
		if m := c.leader(); m != nil {
			return m, true
		}
	}
	return c.node(e.node), false
}

func (c *cluster) acquire(at target) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy[at] {
		return false
	}
	c.busy[at] = true
	return true
}

func (c *cluster) release(at target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.busy, at)
}

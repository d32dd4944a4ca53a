//go:build unix

package chaos

import (
	"context"
	"sync"
	"time"
)

// play has customers order jobs while faults happen, and returns when all jobs have
// ended, or should have.
func (c *cluster) play(duration time.Duration) {
	list := catalog(c.on)
	kinds := make(map[string]fault)
	for _, f := range list {
		kinds[f.name] = f
	}
	begun := time.Now()
	calm := begun.Add(duration)
	patience, cancel := context.WithDeadline(c.ctx, calm.Add(SettleWithin))
	defer cancel()

	var buying, happening sync.WaitGroup
	for customer := range customers {
		buying.Go(func() { c.buy(customer+1, calm, patience) })
	}
	for _, e := range schedule(c.seed, list, duration) {
		c.pause(time.Until(begun.Add(e.at)))
		f := kinds[e.fault]
		if c.ctx.Err() != nil || f.on == packets && c.noNetworks != nil {
			continue
		}
		happening.Go(func() { c.happen(e, f) })
	}
	happening.Wait()
	for _, m := range c.members() {
		m.start()
	}
	c.pause(time.Until(calm))
	c.book.note("no more faults")
	buying.Wait()
	c.book.note("all customers have gone")
}

// happen begins a fault and ends it when its time is over. It is left out where
// another one is under way.
func (c *cluster) happen(e event, f fault) {
	c.book.plan(e)
	m, leads := c.target(e, f)
	if m == nil && e.machine > 0 {
		return
	}
	at := place{scope: f.on}
	target := ""
	if m != nil {
		at.machine, target = m.number, m.String()
	}
	if !c.occupy(at) {
		return
	}
	defer c.vacate(at)
	end := f.begin(c, m)
	if end == nil {
		return
	}
	c.book.began(e, target, leads)
	c.pause(e.lasts)
	end()
}

// target is the machine that a fault is done to: nil if it is none's, or gone.
func (c *cluster) target(e event, f fault) (m *machine, leads bool) {
	if f.on == joining {
		m, err := c.add(e.machine)
		if err != nil {
			c.book.complain("%w", err)
		}
		return m, false
	}
	if e.leader {
		if m := c.leading(); m != nil {
			return m, true
		}
	}
	return c.machine(e.machine), false
}

func (c *cluster) occupy(at place) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy[at] {
		return false
	}
	c.busy[at] = true
	return true
}

func (c *cluster) vacate(at place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.busy, at)
}

package sim

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// aloneChecks compares the deaths of workers that run a partition alone with those of all workers.
type aloneChecks struct {
	running map[*process]aloneRun
	died    map[partitionOf]aloneDeaths
	deaths  int // number of workers that died
}

// aloneRun is a partition that a worker runs alone.
type aloneRun struct {
	partition partitionOf
	since     time.Duration
}

// aloneDeaths are the deaths of workers that ran a partition alone.
type aloneDeaths struct {
	count int
	ran   time.Duration // time for which the partition ran on these workers
}

// runsAlone records what a worker is assigned.
func (c *checks) runsAlone(worker *process, a wire.Assignment) {
	delete(c.alone.running, worker)
	if a.Alone {
		c.alone.running[worker] = aloneRun{partitionOf{engine.JobOf(a.Job), a.Span.Lo}, c.sim.now}
	}
}

// diedAlone records the death of a process, and the partition that it ran alone.
func (c *checks) diedAlone(p *process) {
	if p.worker == nil || c.sim.healed {
		return
	}
	c.alone.deaths++
	if run, alone := c.alone.running[p]; alone {
		d := c.alone.died[run.partition]
		c.alone.died[run.partition] = aloneDeaths{d.count + 1, d.ran + c.sim.now - run.since}
	}
}

// diesOften reports whether workers that ran a partition alone died much more often than all workers.
// A harmless partition may be blamed for such deaths. The check applies to calm scenarios only, because in
// others the leader does not see all deaths.
func (c *checks) diesOften(partition partitionOf) bool {
	if !c.sim.scenario.calm {
		return true
	}
	var lived time.Duration
	for _, p := range c.sim.processes {
		if end := p.ended; p.worker != nil {
			if p.alive {
				end = c.sim.now
			}
			lived += max(0, min(end, c.sim.scenario.faultsUntil)-p.started)
		}
	}
	d := c.alone.died[partition]
	byChance := d.ran.Seconds() * float64(c.alone.deaths) / max(time.Millisecond, lived).Seconds()
	if d.count > 0 {
		c.sim.cover("seen: partition blamed by chance")
	}
	return float64(d.count) >= 1.5*byChance
}

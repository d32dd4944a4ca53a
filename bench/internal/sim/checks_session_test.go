package sim

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// observedConversation records the reports that a worker has sent to its leader, and the worker's
// drain. All times are on the clock of the worker's process.
type observedConversation struct {
	reportedAt time.Duration // time at which the worker last sent a new report; -1 before the first report
	refusedAt  time.Duration
	refusals   int // number of consecutive refusals by one leader
	epoch      uint64
	drains     bool
	drainedAt  time.Duration
}

func (c *checks) conversation(p *process) *observedConversation {
	if c.conversations[p] == nil {
		c.conversations[p] = &observedConversation{reportedAt: -1}
	}
	seen := c.conversations[p]
	if epoch := p.worker.session.Epoch(); epoch != seen.epoch {
		*seen = observedConversation{epoch: epoch, reportedAt: -1, drains: seen.drains, drainedAt: seen.drainedAt}
	}
	return seen
}

// reports is called when a worker sends a new report. reports checks that the worker has waited
// long enough since its last report to the same leader. The minimum is 5 ms if the worker holds spans
// or calls. After refused reports, the minimum doubles with each refusal, from 10 ms to 1 s.
func (c *checks) reports(p *process, r wire.Report) {
	seen, now := c.conversation(p), p.clock()
	if since := now - seen.reportedAt; seen.reportedAt >= 0 && len(r.Spans) > 0 && since < 5*time.Millisecond {
		c.sim.fail("%s reports %v after its last report", p.name, since)
	}
	if seen.refusals > 0 {
		wait := min(10*time.Millisecond<<min(seen.refusals-1, 10), time.Second)
		if since := now - seen.refusedAt; since < wait {
			c.sim.fail("%s reports %v after refusal %d in a row, want %v", p.name, since, seen.refusals, wait)
		}
	}
	seen.reportedAt = now
}

// answered records that a worker has processed a receipt.
func (c *checks) answered(p *process, r wire.Receipt) {
	if r.Storage != p.storage.identity {
		c.sim.fail("%s takes a receipt of epoch %d from a leader on storage %q", p.name, r.Epoch, r.Storage)
	}
	seen := c.conversation(p)
	if r.Refused != "" {
		seen.refusals++
		seen.refusedAt = p.clock()
		return
	}
	seen.refusals = 0
	c.received(p, r)
}

// leaveTimeout is the time within which a worker must leave after its drain timeout.
const leaveTimeout = time.Second

// drains is called when a worker is told to stop. It must leave within the drain timeout and leaveTimeout.
func (c *checks) drains(p *process) {
	seen := c.conversation(p)
	seen.drains, seen.drainedAt = true, p.clock()
	limit := c.sim.scenario.drainTimeout + leaveTimeout
	p.timer(limit+time.Millisecond, func() {
		if !p.worker.left {
			c.sim.fail("%s has not left %v after it was told to stop", p.name, limit)
		}
	})
}

// leaves is called when a worker leaves. No slot may run partitions, and all items must be durable, except after
// the drain timeout.
func (c *checks) leaves(p *process, leave session.Leave) {
	for _, s := range p.worker.slots {
		// A slot may still wait for storage when the worker leaves after its drain timeout.
		if s.span != nil && (s.running || leave.Reason != session.TimedOut) {
			c.sim.fail("%s leaves while a slot runs a span of job %s", p.name, s.span.Job())
		}
	}
	seen := c.conversation(p)
	if !seen.drains {
		c.sim.fail("%s leaves though it was not told to stop", p.name)
	}
	if p.clock()-seen.drainedAt >= c.sim.scenario.drainTimeout {
		return
	}
	for _, j := range c.sim.all() {
		k := c.keptBy(p, j.spec.ID)
		if !c.manifest(j.spec.ID).State.Final() && k.durable < uint64(len(k.items)) {
			c.sim.fail("%s leaves (%s) with %d items of job %s, of which it knows %d to be durable", p.name, leave.Reason, len(k.items), j.spec.ID, k.durable)
		}
		for _, n := range p.worker.nodes(j.spec.ID) {
			if !c.manifest(j.spec.ID).State.Final() && !p.worker.session.NodeDurable(j.spec.ID, n) {
				c.sim.fail("%s leaves (%s) with node %v of job %s, which it does not know to be durable", p.name, leave.Reason, n, j.spec.ID)
			}
		}
	}
}

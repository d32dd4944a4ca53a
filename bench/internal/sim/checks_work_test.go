package sim

import (
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// received is called when a worker receives a receipt. Items that it calls durable must be in a manifest.
func (c *checks) received(p *process, r wire.Receipt) {
	if len(r.Cuts) > 0 {
		c.sim.cover("seen: span cut short")
	}
	for _, a := range r.Assigned {
		c.first[engine.JobOf(a.Job)] = max(c.first[engine.JobOf(a.Job)], r.Epoch)
	}
	for _, jr := range r.Jobs {
		m, k := c.manifest(jr.Job), c.keptBy(p, jr.Job)
		if jr.Ended {
			if !m.State.Final() {
				c.sim.fail("epoch %d told %s that job %s has ended, which is %q", r.Epoch, p.name, jr.Job, m.State)
			}
			if jr.Continues && engine.JobOf(jr.Job) == jr.Job || !jr.Continues && !c.manifest(engine.JobOf(jr.Job)).State.Final() {
				c.sim.fail("epoch %d told %s that job %s has ended, and that it continues: %v", r.Epoch, p.name, jr.Job, jr.Continues)
			}
			k.ended = true
			continue
		}
		if m.State.Final() {
			continue
		}
		for _, item := range k.items[k.durable:max(k.durable, min(jr.Durable, uint64(len(k.items))))] {
			if j := c.sim.job(jr.Job); !covered(j.tree, m, item.span) && !dropped(m, item.span) {
				c.sim.fail("epoch %d told %s that %v of job %s is durable, which is in no checkpoint", r.Epoch, p.name, item.span, jr.Job)
			}
		}
		k.durable = max(k.durable, min(jr.Durable, uint64(len(k.items))))
	}
}

func (c *checks) keptBy(p *process, job string) *keptItems {
	if c.kept[p] == nil {
		c.kept[p] = map[string]*keptItems{}
	}
	if c.kept[p][job] == nil {
		c.kept[p][job] = &keptItems{}
	}
	return c.kept[p][job]
}

// delivered is called when a slot or a call has passed items to its worker's session.
func (c *checks) delivered(p *process, j *job, items []wire.Item) {
	k := c.keptBy(p, j.spec.ID)
	c.deliveredOrFailed(p, j, items)
	for _, i := range items {
		item := keptItem{at: c.sim.now}
		if i.Partial != nil && i.Partial.MergedFor == 0 && !i.Partial.Stored {
			item.span = j.tree.Span(i.Partial.Node)
		}
		if i.Partial != nil {
			c.has(p, j.spec.ID, i.Partial.Node, i.Partial.MergedFor > 0, i.Partial.Stored)
		}
		k.items = append(k.items, item)
	}
}

// computes is called when a worker begins to compute partitions. In calm scenarios no living worker may have
// finished one of them before the leader's term, because it reports them to the new leader. A leader does not wait for
// workers that joined after the last beacon of the leader before it.
func (c *checks) computes(p *process, j *job, span engine.Span) {
	if !c.sim.scenario.calm {
		return
	}
	t := c.terms[p.worker.session.Epoch()]
	if t == nil || t.leads == nil || t.unaware {
		return
	}
	for _, other := range c.sim.processes {
		if !other.alive || other.worker == nil || other.worker.left || c.kept[other] == nil || c.kept[other][j.spec.ID] == nil {
			continue
		}
		c.computesHeld(p, other, j, span, t.since)
		for _, item := range c.kept[other][j.spec.ID].items {
			if item.at < t.since && item.span.Lo < span.Hi && span.Lo < item.span.Hi {
				c.sim.fail("%s computes %v of job %s, of which %s had finished %v before %s began to lead", p.name, span, j.spec.ID, other.name, item.span, t.holder)
			}
		}
	}
}

// replies is called when a leader replies to a report. It must refuse a worker that uses another storage.
func (c *checks) replies(leader, worker *process, r wire.Receipt) {
	if leader.storage == worker.storage {
		return
	}
	c.sim.cover("seen: worker on another storage refused")
	if r.Refused == "" {
		c.sim.fail("%s leads and takes a report of %s, which uses another storage", leader.name, worker.name)
	}
}

// assigns is called when a leader replies to a report. It records the assigned spans and calls, and checks that
// auditors are other workers that know the job.
func (c *checks) assigns(worker *process, r wire.Receipt) {
	for _, j := range r.Jobs {
		for _, id := range j.Auditors {
			c.sim.cover("seen: auditor named")
			knows := func(p *process) bool {
				return p.name == id && slices.ContainsFunc(p.knows, func(d jobs.Job) bool { return d.Version() == c.sim.job(j.Job).spec.Version })
			}
			if id == worker.name || c.sim.job(j.Job).spec.Audit == 0 || !slices.ContainsFunc(c.sim.processes, knows) {
				c.sim.fail("%s is an auditor for %s, job %s", id, worker.name, j.Job)
			}
		}
	}
	for _, a := range r.Assigned {
		given := assigned{job: a.Job, span: a.Span}
		if a.Call != nil {
			given.function = a.Call.Function
		}
		c.assigned[worker] = append(c.assigned[worker], given)
		c.runsAlone(worker, a)
		c.assignsBroken(worker, r.Epoch, a)
		c.finishesPrefix(r.Epoch, a)
	}
}

// finishesPrefix checks that a call of Finish for a prefix of a job is assigned only when the stop is durable. Otherwise
// the next leader might stop at another prefix, when Finish has already committed objects.
func (c *checks) finishesPrefix(epoch uint64, a wire.Assignment) {
	if a.Call == nil || a.Call.Function != wire.Finish || a.Call.Prefix == 0 {
		return
	}
	m := c.manifest(a.Job)
	if removed := len(m.Epochs) == 0; !removed && (m.Stopped == nil || m.Stopped.At != a.Call.Prefix) {
		c.sim.fail("epoch %d assigns Finish of the first %d partitions of job %s, and the stop in the manifest is %+v", epoch, a.Call.Prefix, a.Job, m.Stopped)
	}
}

// died is called when a process dies.
func (c *checks) died(p *process) {
	c.diedAlone(p)
	c.blame(p)
}

// blame counts a death for each partition and call that was assigned to a process, because a leader may suspect them.
func (c *checks) blame(p *process) {
	for _, a := range c.assigned[p] {
		if a.function != wire.Map {
			c.callsDied[callOf{engine.JobOf(a.job), a.function}]++
		}
		for partition := a.span.Lo; partition < a.span.Hi; partition++ {
			c.deaths[partitionOf{engine.JobOf(a.job), partition}]++
		}
	}
}

// starved checks that the only job whose call does not return has held up no job whose own code
// returns. Work whose worker has died runs alone, and is not checked.
func (c *checks) starved(by *job) {
	another := func(j *job) bool { return j != by && j.rogue.how == hangs }
	if c.suspected(by) || slices.ContainsFunc(c.sim.list, another) {
		return
	}
	for _, j := range c.sim.list {
		well := j.rogue.how == behaves && j.hangs == noPartition && !c.suspected(j)
		if state := c.manifest(j.spec.ID).State; well && !state.Final() {
			c.sim.fail("job %s is %q, while %v of job %s does not return", j.spec.ID, state, by.rogue.function, by.spec.ID)
		}
	}
}

// suspected reports whether a process died while a partition or call of the job was assigned to it. A leader that was
// deposed without releasing the lease also counts as dead for the next leader, together with its own worker's calls and
// partitions.
func (c *checks) suspected(j *job) bool {
	for p := range c.deaths {
		if p.job == j.spec.ID {
			return true
		}
	}
	for call := range c.callsDied {
		if call.job == j.spec.ID {
			return true
		}
	}
	m := c.manifest(j.spec.ID)
	return len(m.Epochs) > 1 && (slices.ContainsFunc(m.Calls, func(call store.CallRecord) bool { return call.Led > 0 || call.Deaths > 0 }) || len(m.CrashSuspects) > 0)
}

package sim

import (
	"math"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

type conversationOf struct {
	epoch  uint64
	worker string
}

// observedHolder records what a leader knows of the partials that a worker holds.
type observedHolder struct {
	since    time.Duration // time of the leader's first reply to the worker
	sequence uint64        // sequence number of the worker's last report
	nodes    []nodeOf      // nodes in the worker's last report that the leader needs
}

type nodeOf struct {
	job  string
	node engine.Node
}

// fetchOf identifies an operand that a leader has told a worker to fetch from its holder.
type fetchOf struct {
	conversationOf // conversation of the leader with the holder
	nodeOf
}

type observedFetch struct {
	function wire.Function // function and node of the call with the operand
	node     engine.Node
	failed   int // number of failed fetches that were reported to the leader
	ignored  int // number of receipts to the holder, after the first failed fetch, without an order to store the operand
}

// replied is called when a leader replies to a report. It checks the orders about held partials.
func (c *checks) replied(leader *leadership, worker *process, r wire.Report, receipt wire.Receipt) {
	if leader.process.storage != c.sim.storage || receipt.Refused != "" {
		return
	}
	at := conversationOf{leader.epoch, worker.name}
	h := c.holders[at]
	if h == nil {
		h = &observedHolder{since: c.sim.now}
		c.holders[at] = h
	}
	if r.Hello == nil && r.Sequence == h.sequence {
		return // the worker has repeated the report
	}
	h.sequence = r.Sequence
	if t := c.terms[at.epoch]; t != nil && len(receipt.Assigned) > 0 {
		t.assigns = true
	}
	if !r.More {
		h.nodes = needed(r, receipt)
		c.stores(at, h.nodes, r.Hello != nil, receipt)
		for _, n := range h.nodes {
			if !returnsResult(r, n.job) {
				c.worthStoring(leader, worker, n, receipt)
			}
		}
	}
	c.fetchesFailed(at.epoch, r)
	for _, a := range receipt.Assigned {
		if a.Call == nil {
			c.assignsHeld(at.epoch, worker, a)
		} else {
			c.assignsFetches(at.epoch, worker, a)
		}
	}
}

// needed returns the nodes that a worker has reported and that the leader has not released.
func needed(r wire.Report, receipt wire.Receipt) (list []nodeOf) {
	for _, n := range r.Nodes {
		released := func(j wire.JobReceipt) bool {
			return j.Job == n.Job && (j.Ended || slices.Contains(j.Release, n.Node))
		}
		if !slices.ContainsFunc(receipt.Jobs, released) {
			list = append(list, nodeOf{n.Job, n.Node})
		}
	}
	return list
}

// returnsResult reports whether a report contains the output of Finish of a job, so that the leader ends the job.
func returnsResult(r wire.Report, job string) bool {
	return slices.ContainsFunc(r.Jobs, func(jr wire.JobReport) bool {
		return jr.Job == job && slices.ContainsFunc(jr.Items, func(i wire.Item) bool { return i.Output != nil && i.Output.Function == wire.Finish })
	})
}

func ordersStore(receipt wire.Receipt, n nodeOf) bool {
	return slices.ContainsFunc(receipt.Jobs, func(j wire.JobReceipt) bool { return j.Job == n.job && slices.Contains(j.Store, n.node) })
}

// assignsHeld checks in calm scenarios that an assigned span contains no partition of a node that a
// living worker has reported to the same leader and still holds.
func (c *checks) assignsHeld(epoch uint64, to *process, a wire.Assignment) {
	if !c.sim.scenario.calm {
		return
	}
	for _, other := range c.sim.processes {
		h := c.holders[conversationOf{epoch, other.name}]
		if h == nil || !other.alive || other.worker == nil || other.worker.left {
			continue
		}
		for _, n := range h.nodes {
			_, holds := other.worker.holdings[n.job][n.node]
			if covers := c.sim.job(n.job).tree.Span(n.node); holds && n.job == a.Job && covers.Lo < a.Span.Hi && a.Span.Lo < covers.Hi {
				c.sim.fail("epoch %d assigns %v of job %s to %s, although %s has reported that it holds node %v", epoch, a.Span, a.Job, to.name, other.name, n.node)
			}
		}
	}
}

// writeLatency and writeBytesPerSecond are the ledger's assumptions about writes to storage.
const (
	writeLatency        = 50 * time.Millisecond
	writeBytesPerSecond = 50_000_000
)

// worthStoring checks in calm scenarios that a leader orders a worker to store a node when the loss of
// the node would cost more than 2.5 times the work at which its write is worthwhile. The factor allows for
// partitions that take half the time of the average partition, and for clocks. worthStoring does not check leaders
// in recovery, resumed jobs that no leader has measured, and jobs whose end the leader may have decided.
func (c *checks) worthStoring(leader *leadership, holder *process, n nodeOf, receipt wire.Receipt) {
	j, t := c.sim.job(n.job), c.terms[leader.epoch]
	if !c.sim.scenario.calm || ordersStore(receipt, n) || !t.assigns || t.since > j.submitAt && !c.measured[engine.JobOf(n.job)] || j.mayEndEarly(c) {
		return
	}
	write := writeLatency.Seconds() + float64(len(holder.worker.holdings[n.job][n.node].data))/writeBytesPerSecond
	interval := math.Sqrt(2 * write * c.sim.scenario.ledger.MeanTimeBetweenFailures.Seconds())
	if work := float64(c.exposed(holder, n)) * j.each.Seconds(); work > 2.5*interval {
		c.sim.fail("epoch %d does not order %s to store node %v of job %s, whose loss would cost %.1f s of work: a write is worthwhile after %.1f s", leader.epoch, holder.name, n.node, n.job, work, interval)
	}
}

// mayEndEarly reports whether a leader may end a job before its root is finished.
func (j *job) mayEndEarly(c *checks) bool {
	return j.cancelAt >= 0 || j.stopAfter > 0 || j.stop() > 0 || j.rogue.function != wire.Map || c.mayFail(j) || c.manifest(j.spec.ID).State.Final()
}

// exposed returns how many partitions of a held node only its holder has had, without those in storage.
func (c *checks) exposed(holder *process, n nodeOf) (partitions uint64) {
	tree := c.sim.job(n.job).tree
	for span := tree.Span(n.node); !span.Empty(); span.Lo++ {
		elsewhere := func(o copied) bool {
			covers := tree.Span(o.node)
			return covers.Lo <= span.Lo && span.Lo < covers.Hi && (o.by != holder || o.stored)
		}
		if !slices.ContainsFunc(c.copies[n.job], elsewhere) {
			partitions++
		}
	}
	return partitions
}

// assignsFetches records the operands that a worker must fetch. A leader must not repeat a fetch that has failed
// twice without ordering the holder to store the operand.
func (c *checks) assignsFetches(epoch uint64, to *process, a wire.Assignment) {
	for _, o := range a.Call.Operands {
		if o.Holder == "" || o.Holder == to.name {
			continue
		}
		n := nodeOf{a.Job, o.Node}
		key := fetchOf{conversationOf{epoch, o.Holder}, n}
		f := c.fetches[key]
		if f == nil {
			f = &observedFetch{}
			c.fetches[key] = f
		}
		f.function, f.node = a.Call.Function, a.Call.Node
		stored := func(o copied) bool { return o.node == n.node && o.stored }
		if f.failed > 1 && f.ignored > 0 && !slices.ContainsFunc(c.copies[n.job], stored) {
			c.sim.fail("epoch %d tells %s to fetch node %v of job %s from %s, which was not told to store it after %d failed fetches", epoch, to.name, n.node, n.job, o.Holder, f.failed)
		}
	}
}

func (c *checks) fetchesFailed(epoch uint64, r wire.Report) {
	for _, jr := range r.Jobs {
		for _, item := range jr.Items {
			if item.Failure == nil || item.Failure.Holder == "" {
				continue
			}
			for key, f := range c.fetches {
				if key.conversationOf == (conversationOf{epoch, item.Failure.Holder}) && key.job == jr.Job && f.function == item.Failure.Function && f.node == item.Failure.Node {
					f.failed++
				}
			}
		}
	}
}

// stores records which operands the holder is ordered to store after their fetches have failed. A
// leader that has removed the holder in the meantime does not know of the failed fetches any more.
func (c *checks) stores(holder conversationOf, held []nodeOf, begins bool, receipt wire.Receipt) {
	for key, f := range c.fetches {
		switch {
		case key.conversationOf != holder:
		case begins || ordersStore(receipt, key.nodeOf) || !slices.Contains(held, key.nodeOf):
			f.failed, f.ignored = 0, 0
		case f.failed > 0:
			f.ignored++
		}
	}
}

// joinsMerges is the time after a worker's first report after which the leader no longer merges large
// partials. The leader may still have merges that it began before the report.
const joinsMerges = 2 * time.Second

// leaderMerges is called when a leader merges partials. leaderMerges checks in calm scenarios that the
// leader does not merge large partials while a worker reports to it that can merge and hold them.
func (c *checks) leaderMerges(leader *leadership, j *job) {
	if j.pad <= wire.MaxInline {
		return
	}
	c.sim.cover("seen: leader merges large partials")
	if !c.sim.scenario.calm {
		return
	}
	for _, p := range c.sim.processes {
		h := c.holders[conversationOf{leader.epoch, p.name}]
		if h != nil && p.alive && !p.worker.left && p.worker.hello.Holds && c.sim.now-h.since > joinsMerges {
			c.sim.fail("%s leads and merges large partials of job %s itself, although %s can merge them", leader.process.name, j.spec.ID, p.name)
		}
	}
}

package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// checks watch what no process can see whole, and hold the promises against it.
// Each names what it is about; [Sim.fail] ends the simulation.
type checks struct {
	sim *Sim

	manifests map[string]store.Manifest // by job, as stored
	first     map[string]uint64         // by job, the lowest epoch that may still write its manifest
	terms     map[uint64]*termSeen
	epochs    map[*process]uint64 // the highest each worker has followed
	kept      map[*process]map[string]*keptItems
	assigned  map[*process][]assigned
	deaths    map[partitionOf]int // of processes to which the partition was assigned

	conversations map[*process]*conversationSeen
}

// assigned is a span that some leader gave a worker.
type assigned struct {
	job  string
	span jobs.Span
}

type partitionOf struct {
	job       string
	partition uint64
}

// termSeen is what is known of an epoch.
type termSeen struct {
	holder  string
	leads   *process
	since   time.Duration
	expires time.Duration // when storage lets go of its lease, unless renewed
	changed bool          // another took the lease over before it expired
}

// keptItems are what a worker has delivered of a job. The first has number 1.
type keptItems struct {
	items   []keptItem
	durable uint64
	ended   bool
}

type keptItem struct {
	span jobs.Span
	at   time.Duration
}

func newChecks(s *Sim) *checks {
	return &checks{
		sim: s, manifests: map[string]store.Manifest{}, first: map[string]uint64{}, terms: map[uint64]*termSeen{},
		epochs: map[*process]uint64{}, kept: map[*process]map[string]*keptItems{},
		assigned: map[*process][]assigned{}, deaths: map[partitionOf]int{},
		conversations: map[*process]*conversationSeen{},
	}
}

// fail ends the simulation: a promise is broken.
func (s *Sim) fail(format string, args ...any) {
	if s.failure == nil {
		s.failure = fmt.Errorf(format, args...)
		s.trace.printf(nil, "FAILED: %v", s.failure)
	}
}

// acquired: storage has given or renewed the lease. Epochs grow by one with each
// holder.
func (c *checks) acquired(r election.Record, expires time.Duration) {
	t := c.terms[r.Epoch]
	if t == nil {
		t = &termSeen{holder: r.Holder}
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

// changed: the lease goes to another before it has expired.
func (c *checks) changed(epoch uint64) {
	if t := c.terms[epoch]; t != nil {
		t.changed = true
	}
}

// leads: a process begins to lead.
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

// acts: a process acts as the leader. Where its clock runs within the margin, it
// no longer does once its lease has expired.
func (c *checks) acts(p *process, epoch uint64) {
	t := c.terms[epoch]
	if !t.changed && c.sim.now > t.expires {
		c.sim.fail("%s acts as the leader of epoch %d, %v after its lease expired", p.name, epoch, c.sim.now-t.expires)
	}
}

// followed: a worker never turns back to an older epoch.
func (c *checks) followed(p *process, epoch uint64) {
	if epoch < c.epochs[p] {
		c.sim.fail("%s follows epoch %d after %d", p.name, epoch, c.epochs[p])
	}
	c.epochs[p] = epoch
}

// written: a value has replaced another. Of a job's manifests, epochs never go
// back, what is durable stays so, and an end is final.
func (c *checks) written(by, key string) {
	id, isManifest := strings.CutPrefix(key, "manifest/")
	if !isManifest {
		return
	}
	m, _, err := c.sim.storage.store.Manifest(context.Background(), id)
	if err != nil {
		c.sim.fail("%s wrote a manifest of job %s that cannot be read: %v", by, id, err)
		return
	}
	old := c.manifests[id]
	if c.sim.jobs[id].removing {
		return // it must be gone in the end
	}
	c.manifests[id] = m
	switch {
	case m.Epoch < old.Epoch:
		c.sim.fail("%s wrote a manifest of job %s under epoch %d after one of %d", by, id, m.Epoch, old.Epoch)
	case m.Epoch < c.first[id]:
		c.sim.fail("%s wrote a manifest of job %s under epoch %d, though %d had given its partitions out", by, id, m.Epoch, c.first[id])
	case old.State.Final():
		c.sim.fail("%s wrote a manifest of job %s after its end", by, id)
	case m.State.Final():
		if ended := c.sim.jobs[id].atEnd; ended != nil {
			ended()
		}
		return
	}
	c.sound(by, c.sim.jobs[id], m)
	for _, n := range old.Nodes {
		if span := c.sim.jobs[id].tree.Span(n.Node); !covered(c.sim.jobs[id].tree, m, span) {
			c.sim.fail("%s wrote a manifest of job %s without %v, which was durable", by, id, span)
		}
	}
	for _, w := range old.Workers {
		if i := slices.IndexFunc(m.Workers, func(n store.Contributor) bool { return n.Worker == w.Worker }); i >= 0 && m.Workers[i].Through < w.Through {
			c.sim.fail("%s wrote a manifest of job %s with %d items of %s, after %d", by, id, m.Workers[i].Through, w.Worker, w.Through)
		}
	}
}

// sound: a manifest's nodes are apart and in order, and have the bytes that one
// process would give them.
func (c *checks) sound(by string, j *job, m store.Manifest) {
	var at uint64
	for _, n := range m.Nodes {
		span := j.tree.Span(n.Node)
		if span.Lo < at {
			c.sim.fail("%s wrote a manifest of job %s in which %v overlaps what is before it", by, j.spec.ID, span)
		}
		at = span.Hi
		if n.Data == nil {
			continue
		}
		want, err := j.referenceNode(n.Node, m.Skipped)
		if err != nil || string(n.Data) != string(want) {
			c.sim.fail("%s wrote a manifest of job %s in which %v is not what one process makes of it (%v)", by, j.spec.ID, span, err)
		}
	}
}

// covered reports whether a manifest's nodes have every partition of a span.
func covered(tree jobs.Tree, m store.Manifest, span jobs.Span) bool {
	at := span.Lo
	for _, n := range m.Nodes { // in order
		if s := tree.Span(n.Node); s.Lo <= at && at < s.Hi {
			at = s.Hi
		}
	}
	return at >= span.Hi
}

// received: a worker got a receipt. What it calls durable is in a manifest that
// storage has.
func (c *checks) received(p *process, r wire.Receipt) {
	if len(r.Cuts) > 0 {
		c.sim.hit("seen: span cut short")
	}
	for _, a := range r.Assigned {
		c.first[a.Job] = max(c.first[a.Job], r.Epoch)
	}
	for _, jr := range r.Jobs {
		m, k := c.manifests[jr.Job], c.keptBy(p, jr.Job)
		if jr.Ended {
			if !m.State.Final() {
				c.sim.fail("epoch %d told %s that job %s has ended, which is %q", r.Epoch, p.name, jr.Job, m.State)
			}
			k.ended = true
			continue
		}
		if m.State.Final() {
			continue
		}
		for _, item := range k.items[k.durable:max(k.durable, min(jr.Durable, uint64(len(k.items))))] {
			if !covered(c.sim.jobs[jr.Job].tree, m, item.span) {
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

// delivered: a worker's book has taken what a slot has done. A failure covers no
// partition.
func (c *checks) delivered(p *process, j *job, items []wire.Item) {
	k := c.keptBy(p, j.spec.ID)
	for _, i := range items {
		item := keptItem{at: c.sim.now}
		if i.Partial != nil {
			item.span = j.tree.Span(i.Partial.Node)
		}
		k.items = append(k.items, item)
	}
}

// computes: a worker begins to compute partitions. Where nothing goes wrong but
// processes that die, nobody computes what a living worker had finished before
// the present leader began: that leader has been told.
func (c *checks) computes(p *process, j *job, span jobs.Span) {
	if !c.sim.scenario.calm {
		return
	}
	t := c.terms[p.worker.session.Epoch()]
	if t == nil || t.leads == nil {
		return
	}
	for _, other := range c.sim.processes {
		if !other.alive || other.worker == nil || other.worker.left || c.kept[other] == nil || c.kept[other][j.spec.ID] == nil {
			continue
		}
		for _, item := range c.kept[other][j.spec.ID].items {
			if item.at < t.since && item.span.Lo < span.Hi && span.Lo < item.span.Hi {
				c.sim.fail("%s computes %v of job %s, of which %s had finished %v before %s began to lead", p.name, span, j.spec.ID, other.name, item.span, t.holder)
			}
		}
	}
}

// assigns: a leader answers a worker's report.
func (c *checks) assigns(worker *process, r wire.Receipt) {
	for _, a := range r.Assigned {
		c.assigned[worker] = append(c.assigned[worker], assigned{a.Job, a.Span})
	}
}

// died: a process is gone, and what it was assigned is suspected of that.
func (c *checks) died(p *process) {
	for _, a := range c.assigned[p] {
		for partition := a.span.Lo; partition < a.span.Hi; partition++ {
			c.deaths[partitionOf{a.job, partition}]++
		}
	}
}

// mayBeBlamed reports whether a partition does harm, or seemed to.
func (c *checks) mayBeBlamed(j *job, partition uint64) bool {
	return partition == j.broken || partition == j.permanent || partition == j.killer ||
		c.deaths[partitionOf{j.spec.ID, partition}] >= min(j.spec.MaxAttempts, 3)
}

// mayFail reports whether the job has a partition that may be blamed.
func (c *checks) mayFail(j *job) bool {
	for partition := range j.partitions {
		if c.mayBeBlamed(j, partition) {
			return true
		}
	}
	return false
}

// ended: every job that was submitted has come to the right end.
func (c *checks) ended() {
	for _, j := range c.sim.list {
		if !j.removing {
			c.endedWell(j)
			continue
		}
		if key := c.sim.storage.remainder(j.spec.ID); key != "" {
			c.sim.fail("%s is in storage of job %s, which was removed", key, j.spec.ID)
		}
	}
	for _, key := range c.sim.storage.list("poison/") {
		c.sim.fail("%s is in storage", key)
	}
}

func (c *checks) endedWell(j *job) {
	m := c.manifests[j.spec.ID]
	switch {
	case m.State == store.Cancelled && !j.cancelAsked:
		c.sim.fail("job %s is cancelled, and nobody wanted that", j.spec.ID)
	case m.State != store.Cancelled && j.cancelled:
		c.sim.fail("job %s is %s, though it was said to be cancelled", j.spec.ID, m.State)
	case m.State == store.Failed && strings.HasPrefix(m.Error, "open: ") && j.notOpened >= j.spec.MaxAttempts:
	case m.State == store.Failed && !c.mayFail(j):
		c.sim.fail("job %s failed: %s", j.spec.ID, m.Error)
	case m.State == store.Completed:
		c.completedWell(j, m)
	}
}

func (c *checks) completedWell(j *job, m store.Manifest) {
	if uint64(len(m.Skipped)) > j.spec.MaxSkipped {
		c.sim.fail("job %s skipped %d partitions, %d are allowed", j.spec.ID, len(m.Skipped), j.spec.MaxSkipped)
	}
	for _, p := range m.Skipped {
		if !c.mayBeBlamed(j, p) {
			c.sim.fail("job %s skipped partition %d, which does no harm", j.spec.ID, p)
		}
	}
	want, digest, err := j.reference(m.Skipped)
	if err != nil {
		c.sim.fail("compute the reference of job %s: %v", j.spec.ID, err)
		return
	}
	got := c.sim.storage.values["result/"+j.spec.ID].data
	if err := j.countsEachOnce(got, m.Skipped); err != nil {
		c.sim.fail("job %s: %v", j.spec.ID, err)
	}
	if string(got) != string(want) || m.SHA256 != digest {
		c.sim.fail("the result of job %s is %s with digest %s, one process makes %s with %s", j.spec.ID, got, m.SHA256, want, digest)
	}
	orderly := c.sim.scenario.calm && !c.sim.killed
	if orderly {
		c.sim.hit("seen: job of an orderly cluster")
	}
	if orderly && m.Executed+uint64(len(m.Skipped)) != j.partitions {
		c.sim.fail("job %s of %d partitions says that it executed %d, though no process was killed", j.spec.ID, j.partitions, m.Executed)
	}
	if m.Executed+uint64(len(m.Skipped)) < j.partitions {
		c.sim.fail("job %s of %d partitions says that it executed %d", j.spec.ID, j.partitions, m.Executed)
	}
}

package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// written is called when a blob is stored. A manifest must not lower its job's epoch, lose durable partitions,
// or change a job that has ended.
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
	if c.sim.job(id).removing {
		return // at the end, [storage.remainder] checks that this manifest was removed again
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
		if ended := c.sim.job(id).onEnd; ended != nil {
			ended()
		}
		return
	}
	c.keepsPartitionTime(by, c.sim.job(id), old, m)
	another := c.roundsWell(by, c.sim.job(id), old, m)
	c.sound(by, c.sim.job(id).current(m), m)
	c.judgedWell(by, c.sim.job(id), old, m)
	for _, call := range m.Calls {
		if call.Function == wire.Merge.String() && call.Failed > 0 && c.sim.job(id).rogue.function != wire.Merge {
			c.sim.fail("%s counts %d failures of Merge of node %v of job %s, which does not fail", by, call.Failed, call.Node, id)
		}
	}
	if another {
		return
	}
	for _, n := range old.Nodes {
		if j, span := c.sim.job(id), c.sim.job(id).tree.Span(n.Node); !covered(j.tree, m, span) && !dropped(m, span) {
			c.sim.fail("%s wrote a manifest of job %s without %v, which was durable", by, id, span)
		}
	}
	for _, w := range old.Workers {
		if i := slices.IndexFunc(m.Workers, func(n store.Contributor) bool { return n.Worker == w.Worker }); i >= 0 && m.Workers[i].Through < w.Through {
			c.sim.fail("%s wrote a manifest of job %s with %d items of %s, after %d", by, id, m.Workers[i].Through, w.Worker, w.Through)
		}
	}
}

// keepsPartitionTime checks that a manifest contains the time that a partition takes if an earlier manifest
// contained it. In calm scenarios keepsPartitionTime also checks the first leader of a job, which sees each
// partition begin.
func (c *checks) keepsPartitionTime(by string, j *job, old, m store.Manifest) {
	if t := c.terms[m.Epoch]; t != nil && c.sim.scenario.calm && m.Executed > reused(m)+m.Earlier() && t.since <= j.submitAt {
		c.measured[j.spec.ID] = true
	}
	if m.PartitionTime == 0 && (old.PartitionTime > 0 || c.measured[j.spec.ID]) {
		c.sim.fail("%s wrote a manifest of job %s without the time that a partition takes, which a leader has measured", by, j.spec.ID)
	}
}

// reused returns the number of partitions that count as executed and were reused.
func reused(m store.Manifest) uint64 {
	if m.Reused == nil {
		return 0
	}
	return m.Reused.Partitions
}

// read is called when a process has read a blob. It must have got the last of the writes that had returned when
// the read began, or a later write. The parameter writes is the number of the writes that had returned.
func (c *checks) read(p *process, st *storage, key string, version store.Version, writes int) {
	history := st.history[key]
	if writes > 0 && !slices.Contains(history[writes-1:], version) {
		c.sim.fail("%s reads a value of %s that was replaced before the read began", p.name, key)
	}
}

// sound checks that a manifest's nodes are disjoint, in order, and have the bytes of a single process.
func (c *checks) sound(by string, j *job, m store.Manifest) {
	var at uint64
	for _, n := range m.Nodes {
		span := j.tree.Span(n.Node)
		if span.Lo < at {
			c.sim.fail("%s wrote a manifest of job %s in which %v overlaps what is before it", by, j.spec.ID, span)
		}
		at = span.Hi
		data, err := n.Data, error(nil)
		if n.Blob != "" {
			blob := fmt.Sprint(n.Blob, n.Node, m.Skipped)
			if c.readBlobs[blob] {
				continue
			}
			c.readBlobs[blob] = true
			data, err = c.sim.storage.store.Partial(context.Background(), j.spec.ID, n.Blob)
		}
		want, wrong := j.referenceNode(n.Node, m.Skipped)
		if err = cmp.Or(err, wrong); err != nil || string(data) != string(want) {
			c.sim.fail("%s wrote a manifest of job %s in which %v has other bytes than a single process computes (%v)", by, j.spec.ID, span, err)
		}
	}
}

// keepsWholeNodes checks that the final manifest of a job that skipped partitions has all others, for a job that retries it.
func (c *checks) keepsWholeNodes(j *job, m store.Manifest) {
	if len(m.Skipped) == 0 || j.spec.Estimates || j.spec.Rounds > 0 {
		if len(m.Nodes) > 0 {
			c.sim.fail("job %s has completed and keeps %d nodes", j.spec.ID, len(m.Nodes))
		}
		return
	}
	c.sim.cover("seen: nodes kept of a job with skipped partitions")
	for p := range j.partitions {
		if _, skipped := slices.BinarySearch(m.Skipped, p); covered(j.tree, m, engine.Span{Lo: p, Hi: p + 1}) == skipped {
			c.sim.fail("job %s skipped the partitions %v, and partition %d is among its kept nodes: %v", j.spec.ID, m.Skipped, p, !skipped)
		}
	}
	for _, n := range m.Nodes {
		if n.Blob == "" {
			continue
		}
		if _, err := c.sim.storage.store.Partial(context.Background(), j.spec.ID, n.Blob); err != nil {
			c.sim.fail("job %s keeps a node whose blob cannot be read: %v", j.spec.ID, err)
		}
	}
}

// covered reports whether the nodes of a manifest contain every partition of a span.
func covered(tree engine.Tree, m store.Manifest, span engine.Span) bool {
	at := span.Lo
	for _, n := range m.Nodes { // the nodes are in the order of their partitions
		if s := tree.Span(n.Node); s.Lo <= at && at < s.Hi {
			at = s.Hi
		}
	}
	return at >= span.Hi
}

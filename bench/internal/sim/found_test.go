package sim

import (
	"context"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// finds is the behaviour of a simulated job that reuses partials of earlier jobs.
type finds struct {
	found []engine.Span // disjoint spans whose partials are kept, in order; nil if the job reuses none
}

// drawFound lets some jobs reuse partials. It has its own source of chance, so that a seed without such jobs simulates
// what it did before partials were reused.
func (s *Sim) drawFound(seed uint64) {
	c := newRNG(seed * 34)
	for i := range s.scenario.jobs {
		b := &s.scenario.jobs[i]
		if b.judged || b.rogue.function == wire.Merge || !c.chance(0.2) { // a reused root needs no merge
			continue
		}
		b.found = []engine.Span{}
		for lo := uint64(0); lo < b.partitions; {
			lo += c.Uint64N(b.partitions - lo + 1)
			hi := lo + c.Uint64N(b.partitions-lo+1)
			if c.chance(0.1) {
				lo, hi = 0, b.partitions
				b.found = nil
			}
			if lo < hi {
				b.found = append(b.found, engine.Span{Lo: lo, Hi: hi})
			}
			if lo = hi; c.chance(0.3) {
				break
			}
		}
	}
}

// find writes what a worker that has planned a job has found, and adds the name of the blob to the output. If storage
// refuses, the job computes everything.
func (c *call) find(plan *wire.Output) error {
	p, j := c.worker.process, c.job
	f := store.Found{Reused: store.Reused{Work: time.Second, From: []string{"earlier"}, Root: make([]byte, len(engine.Key{})), Build: wire.ThisBuild()}}
	for _, span := range j.found {
		for _, node := range j.tree.Cover(span) {
			data, err := j.referenceNode(node, nil)
			if err != nil {
				return err
			}
			n := store.StoredNode{Node: node, Data: data}
			if len(data) > wire.MaxInline {
				n.Blob, err = p.store.PutPartial(c.ctx, j.spec.ID, node, data)
				if c.found = append(c.found, n.Blob); err != nil {
					return c.ctx.Err()
				}
				n.Data, n.Large, n.Size = nil, true, uint64(len(data))
			}
			f.Nodes, f.Partitions = append(f.Nodes, n), f.Partitions+j.tree.Span(node).Len()
		}
	}
	blob, err := p.store.PutFound(c.ctx, j.spec.ID, f)
	if c.found = append(c.found, blob); err != nil {
		return c.ctx.Err()
	}
	plan.Found = blob
	for _, n := range f.Nodes {
		p.sim.checks.copies[j.spec.ID] = append(p.sim.checks.copies[j.spec.ID], copied{by: p, node: n.Node, stored: true})
	}
	p.sim.cover("seen: worker that has found kept partials")
	return nil
}

// reusesWhatWasFound checks that a job that has completed says that it has reused what its plan names. A plan names
// nothing if storage refused what the worker had found.
func (c *checks) reusesWhatWasFound(j *job, m store.Manifest) {
	plan, err := c.sim.storage.store.Plan(context.Background(), j.spec.ID)
	want := uint64(0)
	for _, span := range j.found {
		want += span.Len()
	}
	switch {
	case err != nil:
		c.sim.fail("read the plan of job %s: %v", j.spec.ID, err)
	case plan.Found == "" && m.Reused != nil:
		c.sim.fail("job %s says that it reused %+v, and its plan names nothing", j.spec.ID, m.Reused)
	case plan.Found != "" && (m.Reused == nil || m.Reused.Partitions != want):
		c.sim.fail("job %s says that it reused %+v, and its plan names %d partitions", j.spec.ID, m.Reused, want)
	case plan.Found != "":
		c.sim.cover("seen: job that has reused partials")
	}
}

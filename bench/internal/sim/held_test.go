package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// holdings contains the large partials that a worker holds, by job ID and node, as in package executor.
type holdings map[string]map[engine.Node]heldPartial

type heldPartial struct {
	data  []byte
	since time.Duration
	lacks bool // true if skipped partitions are missing from the partial, so that only a leader that skipped the same partitions needs it
}

type heldNode struct {
	node engine.Node
	data []byte
}

// holds adds a partial, which Merge returned if merged is true, and a slot otherwise. If lacks is true, skipped
// partitions are missing from the partial.
func (w *worker) holds(job string, n engine.Node, data []byte, merged, lacks bool) {
	w.process.sim.checks.has(w.process, job, n, merged, false)
	if w.holdings[job] == nil {
		w.holdings[job] = map[engine.Node]heldPartial{}
	}
	if old, found := w.holdings[job][n]; !found || !bytes.Equal(old.data, data) {
		w.holdings[job][n] = heldPartial{data, w.process.sim.now, lacks}
	}
}

func described(n engine.Node, data []byte, lacking uint64) wire.HeldNode {
	return wire.HeldNode{Node: n, Size: uint64(len(data)), Sum: wire.Checksum(data), Lacking: lacking}
}

// storeNode writes a held partial to storage, and tells the session whether the write succeeded.
func (w *worker) storeNode(held wire.HeldNode) {
	p := w.process
	if _, found := w.holdings[held.Job][held.Node]; !found {
		p.sim.fail("%s is told to store node %v of job %s, which it does not hold", p.name, held.Node, held.Job)
		return
	}
	p.sim.cover("seen: held partial stored")
	w.writeNode(held, func() {})
}

// writeNode writes a held partial to storage, tells the session the outcome, and calls then.
func (w *worker) writeNode(held wire.HeldNode, then func()) {
	p, job, n := w.process, held.Job, held.Node
	data := w.holdings[job][n].data
	var blob string
	var err error
	p.spawn(func() { blob, err = p.store.PutPartial(context.Background(), job, n, data) }, func() {
		then()
		ended := w.ended[job]
		switch {
		case ended:
			w.dropPartials(job, []string{blob})
		case err != nil:
			w.session.NodeNotStored(held)
		case w.session.NodeStored(held, blob):
			p.sim.checks.delivered(p, p.sim.job(job), []wire.Item{{Partial: &wire.Partial{Node: n, Blob: blob, Stored: true}}})
		}
		w.called()
	})
}

// fillsFolder makes memory short and the spill folder full for a while.
func (w *worker) fillsFolder() {
	w.stuck = true
	w.session.Pause(true)
	w.freeMemory()
	w.process.timer(w.process.sim.faultDuration(), w.emptiesFolder)
}

// emptiesFolder ends the shortage of memory, so that waiting slots continue.
func (w *worker) emptiesFolder() {
	w.stuck = false
	w.session.Pause(false)
	w.fill()
	w.called()
}

// freeMemory drops partials that are durable, and writes the other partials to storage, at most two
// at a time. Package executor frees memory in the same way if partials cannot be spilled.
func (w *worker) freeMemory() {
	if !w.stuck || w.left {
		return
	}
	for _, j := range w.process.sim.all() {
		id := j.spec.ID
		for _, n := range w.nodes(id) {
			switch {
			case w.session.NodeDurable(id, n):
				w.process.sim.cover("seen: durable partial dropped")
				delete(w.holdings[id], n)
				w.session.NodeLost(id, n)
			case w.storing < 2:
				if held, ok := w.session.BeginStore(id, n); ok {
					w.process.sim.cover("seen: held partial stored for want of memory")
					w.storing++
					w.writeNode(held, func() { w.storing-- })
				}
			}
		}
	}
	w.called()
}

// loses makes the worker lose a partial: a durable one, as if its memory were needed, or any one, as if its file
// could not be read.
func (w *worker) loses(onlyDurable bool) {
	for _, j := range w.process.sim.all() {
		id := j.spec.ID
		for _, n := range w.nodes(id) {
			switch {
			case w.session.NodeDurable(id, n):
				w.process.sim.cover("seen: durable partial dropped")
			case onlyDurable:
				continue
			default:
				w.process.sim.cover("fault: held partial lost")
				w.process.sim.killed = true // the partitions of the partial are computed again
			}
			delete(w.holdings[id], n)
			w.session.NodeLost(id, n)
			w.called()
			return
		}
	}
}

func (w *worker) nodes(job string) []engine.Node {
	var list []engine.Node
	for n := range w.holdings[job] {
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b engine.Node) int {
		if a.Level != b.Level {
			return int(a.Level) - int(b.Level)
		}
		return int(a.Index) - int(b.Index)
	})
	return list
}

var (
	errNotHeld  = errors.New("the worker does not hold the partial")
	errHalfWay  = errors.New("the fetch stopped half-way")
	errNobody   = errors.New("the worker is gone")
	errDigest   = errors.New("the fetched bytes have another checksum")
	fetchWithin = 2 * time.Second
)

// fetch returns an operand that a worker holds. It runs in a coroutine, because it waits for the worker's reply.
func (c *call) fetch(o wire.Partial) (data []byte, err error) {
	w := c.worker
	p, id := w.process, c.job.spec.ID
	if o.Holder == p.name {
		held, found := w.holdings[id][o.Node]
		if !found {
			return nil, errNotHeld
		}
		return held.data, nil
	}
	p.sim.cover("seen: operand fetched")
	err = errHalfWay
	p.sim.await(func(done func()) {
		p.sim.network.request(p, func(to *process) bool { return to.name == o.Holder && to.worker != nil && !to.worker.left }, func(to *process, reply func(func())) {
			held, found := to.worker.holdings[id][o.Node]
			reply(func() {
				switch {
				case !found:
					err = errNotHeld
				case p.sim.rng.chance(p.sim.rates.fetches):
					p.sim.cover("fault: fetch stopped half-way")
					return // without a reply, the fetch ends at its time limit
				default:
					data, err = held.data, nil
				}
				done()
			})
		}, func() {
			err = errNobody
			done()
		})
		p.timer(fetchWithin, done)
	})
	if err == nil && p.sim.rng.chance(p.sim.rates.fetches/4) {
		p.sim.cover("fault: fetched bytes damaged")
		data = slices.Clone(data)
		data[16+16*int(data[8])+6]++ // a high byte of the sum: see leafCodec
	}
	if err == nil && (uint64(len(data)) != o.Size || wire.Checksum(data) != o.Sum) {
		data, err = nil, errDigest
	}
	return data, err
}

// fetchError is the error of a call that could not fetch an operand from its holder.
type fetchError struct {
	holder string
	err    error
}

func (e *fetchError) Error() string {
	return fmt.Sprintf("fetch an operand from %s: %v", e.holder, e.err)
}

// holdsOn checks that the number of partials that a worker holds agrees with the worker's session.
func (c *checks) holdsOn(p *process) {
	have := 0
	for _, held := range p.worker.holdings {
		have += len(held)
	}
	if nodes, _ := p.worker.session.Held(); nodes != have {
		c.sim.fail("%s holds %d partials, its session lists %d", p.name, have, nodes)
	}
}

// operandSize is called when a call has read an operand. The leader must have told its size, because the worker
// reserves memory before it reads the operand.
func (c *checks) operandSize(p *process, j *job, operand wire.Partial, size int) {
	c.sim.cover("seen: operand read from storage")
	if operand.Size != uint64(size) {
		c.sim.fail("%s reads an operand of job %s from a blob of %d bytes, the leader says %d", p.name, j.spec.ID, size, operand.Size)
	}
}

// copied records that a worker has had the partial of a node in memory.
type copied struct {
	by     *process
	node   engine.Node
	merged bool // a call of Merge has returned the partial
	stored bool // the worker has written the partial to storage
	at     time.Duration
}

// has is called when a slot or a call has returned a partial to its worker.
func (c *checks) has(p *process, job string, n engine.Node, merged, stored bool) {
	c.copies[job] = append(c.copies[job], copied{p, n, merged, stored, c.sim.now})
}

// drops is called when a worker drops a partial because the partial is not needed any more. drops
// checks that a stored manifest or another partial of the same worker contains the node. A partial
// that was computed twice may be dropped too: another worker has had the node's partial, or a
// partial that contains the node and was not merged from the dropped partial. A partial that the
// worker has written to storage may also be dropped, because the worker reports the write until the
// write is durable. A leader that has skipped a partition needs no partial that contains this partition, and a job that has stopped at a
// prefix needs no partial with partitions above it. A small partial, which workers hold
// only in clusters with many slots, may also be dropped if other workers have had each of its partitions: older workers report
// small partials, and the leader merges them.
func (c *checks) drops(p *process, job string, n engine.Node) {
	j, m := c.sim.job(job), c.manifest(job)
	held, found := p.worker.holdings[job][n]
	span := j.tree.Span(n)
	if !found || held.lacks || m.State.Final() || j.removing || span.Lo <= j.sours && j.sours < span.Hi || covered(j.tree, m, span) || m.Stopped != nil && span.Hi > m.Stopped.At {
		return
	}
	redundant := func(o copied) bool {
		switch {
		case !j.tree.Span(o.node).Contains(span):
			return false
		case o.by == p:
			return o.node != n || o.stored
		}
		return !o.stored && (o.node == n || !o.merged || o.at <= held.since)
	}
	if !slices.ContainsFunc(c.copies[job], redundant) && (j.pad > wire.MaxInline || !c.hadApart(p, j, job, span)) {
		c.sim.fail("%s drops node %v of job %s, which is neither durable nor held elsewhere", p.name, n, job)
	}
}

// hadApart reports whether other workers have had each partition of a span, in partials of any size.
func (c *checks) hadApart(p *process, j *job, job string, span engine.Span) bool {
	for partition := span.Lo; partition < span.Hi; partition++ {
		had := func(o copied) bool {
			return o.by != p && j.tree.Span(o.node).Contains(engine.Span{Lo: partition, Hi: partition + 1})
		}
		if !slices.ContainsFunc(c.copies[job], had) {
			return false
		}
	}
	return true
}

// computesHeld is called when p computes a span. The other process must not have held a partial of these
// partitions since before the leader's term.
func (c *checks) computesHeld(p, other *process, j *job, span engine.Span, since time.Duration) {
	for _, n := range other.worker.nodes(j.spec.ID) {
		if covers := j.tree.Span(n); other.worker.holdings[j.spec.ID][n].since < since && covers.Lo < span.Hi && span.Lo < covers.Hi {
			c.sim.fail("%s computes %v of job %s, of which %s holds node %v", p.name, span, j.spec.ID, other.name, n)
		}
	}
}

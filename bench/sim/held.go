package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// holdings are the large partials that a worker holds instead of storing them, by job ID and node.
// The type replaces the holdings of package worker/executor.
type holdings map[string]map[jobs.Node]heldPartial

type heldPartial struct {
	data  []byte
	since time.Duration
}

type heldNode struct {
	node jobs.Node
	data []byte
}

// holds adds a partial to those that the worker holds.
func (w *worker) holds(job string, n jobs.Node, data []byte) {
	if w.holdings[job] == nil {
		w.holdings[job] = map[jobs.Node]heldPartial{}
	}
	if _, found := w.holdings[job][n]; !found {
		w.holdings[job][n] = heldPartial{data, w.process.sim.now}
	}
}

// described returns the description of a held partial that its worker sends in a report.
func described(n jobs.Node, data []byte, lacking uint64) wire.HeldNode {
	return wire.HeldNode{Node: n, Size: uint64(len(data)), Sum: wire.Checksum(data), Lacking: lacking}
}

// storeNode writes a held partial to storage, and tells the session whether the write succeeded.
func (w *worker) storeNode(job string, n jobs.Node) {
	p := w.process
	held, found := w.holdings[job][n]
	if !found {
		p.sim.fail("%s is told to store node %v of job %s, which it does not hold", p.name, n, job)
		return
	}
	p.sim.cover("seen: held partial stored")
	var blob string
	var err error
	p.spawn(func() { blob, err = p.store.PutPartial(context.Background(), job, n, held.data) }, func() {
		ended := w.ended[job]
		switch {
		case ended:
			w.dropPartials(job, []string{blob})
		case err != nil:
			w.session.NodeNotStored(job, n)
		case w.session.NodeStored(job, n, blob):
			p.sim.checks.delivered(p, p.sim.jobs[job], []wire.Item{{Partial: &wire.Partial{Node: n, Blob: blob, Stored: true}}})
		}
		w.called()
	})
}

// loses makes the worker lose one of its held partials. If onlyDurable is true, the worker loses
// only a partial that is already durable, as when it needs the partial's memory. If onlyDurable is
// false, the partial need not be durable, as when its file cannot be read.
func (w *worker) loses(onlyDurable bool) {
	for _, j := range w.process.sim.list {
		id := j.spec.ID
		for _, n := range w.nodes(id) {
			switch {
			case w.session.NodeDurable(id, n):
				w.process.sim.cover("seen: durable partial dropped")
			case onlyDurable:
				continue
			default:
				w.process.sim.cover("fault: held partial lost")
				w.process.sim.killed = true // the partial's partitions are computed again
			}
			delete(w.holdings[id], n)
			w.session.NodeLost(id, n)
			w.called()
			return
		}
	}
}

// nodes lists the nodes of a job that a worker holds, in order.
func (w *worker) nodes(job string) []jobs.Node {
	var list []jobs.Node
	for n := range w.holdings[job] {
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b jobs.Node) int {
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

// fetch returns the bytes of an operand that this worker or another one holds. fetch must be called
// in a coroutine, because it waits for the other worker's reply.
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
					return // no reply is sent, so the fetch ends at its time limit
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
		data[len(data)/2]++
	}
	if err == nil && (uint64(len(data)) != o.Size || wire.Checksum(data) != o.Sum) {
		data, err = nil, errDigest
	}
	return data, err
}

// fetchError is the error of a call that could not fetch an operand. fetchError contains the name
// of the worker that was asked for the operand.
type fetchError struct {
	holder string
	err    error
}

func (e *fetchError) Error() string {
	return fmt.Sprintf("fetch an operand from %s: %v", e.holder, e.err)
}

// holdsOn checks that a worker holds as many partials as its session has recorded.
func (c *checks) holdsOn(p *process) {
	have := 0
	for _, held := range p.worker.holdings {
		have += len(held)
	}
	if nodes, _ := p.worker.session.Held(); nodes != have {
		c.sim.fail("%s holds %d partials, its session lists %d", p.name, have, nodes)
	}
}

// computesHeld is called when the process p computes the partitions of a span. computesHeld fails
// the simulation if other has held a partial of one of these partitions since before the leader's
// term began.
func (c *checks) computesHeld(p, other *process, j *job, span jobs.Span, since time.Duration) {
	for _, n := range other.worker.nodes(j.spec.ID) {
		if covers := j.tree.Span(n); other.worker.holdings[j.spec.ID][n].since < since && covers.Lo < span.Hi && span.Lo < covers.Hi {
			c.sim.fail("%s computes %v of job %s, of which %s holds node %v", p.name, span, j.spec.ID, other.name, n)
		}
	}
}

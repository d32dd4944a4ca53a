package ledger

import (
	"fmt"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// openingBytes is how many bytes of parameters and plans one receipt carries, a
// single opening excepted. What does not fit is assigned with the next.
const openingBytes = 256 << 10

// report takes a worker's report and replies. A report that comes again gets the
// same receipt again.
func (l *Ledger) report(e Reported) {
	r := e.Report
	w := l.worker(r.Worker)
	goesOn := w != nil && r.Conversation == w.talk
	switch {
	case r.Epoch != l.cfg.Epoch:
		l.forget(e.Refs...) // meant for another leader
		return
	case r.Hello != nil && w == nil && len(l.workers) >= l.cfg.MaxWorkers:
		l.refuse(e, fmt.Sprintf("the leader has %d workers and takes no more", len(l.workers)))
		return
	case r.Hello != nil && !goesOn:
		w = l.welcome(r) // where it is known, it was refused and has started over
	case !goesOn || r.Sequence > w.sequence+1:
		l.refuse(e, "the leader does not know this worker: begin again with sequence 1 and a hello")
		return
	case r.Sequence == w.sequence: // the answer was lost
		l.forget(e.Refs...)
		l.do(Reply{w.id, w.receipt})
		return
	case r.Sequence < w.sequence: // its answer arrived long ago
		l.forget(e.Refs...)
		return
	}
	w.sequence = r.Sequence
	l.setDraining(w, r.Draining)
	w.seen, w.nudged = l.now, false
	w.receipt = wire.Receipt{Epoch: l.cfg.Epoch, Sequence: r.Sequence}
	refs := e.Refs
	for _, jr := range r.Jobs {
		refs = l.items(w, jr, refs)
	}
	if r.More {
		l.expect(w.id)
	} else {
		l.reconcile(w, r.Spans)
		l.strike(w.id)
		l.settle()
		l.fill(w)
	}
	l.tell(w)
	l.do(Reply{w.id, w.receipt})
}

// refuse takes nothing of a report, and says why.
func (l *Ledger) refuse(e Reported, why string) {
	l.forget(e.Refs...)
	l.do(Reply{e.Report.Worker, wire.Receipt{Epoch: l.cfg.Epoch, Sequence: e.Report.Sequence, Refused: why}})
}

// items takes what a worker has produced of one job, and returns the refs that
// follow.
func (l *Ledger) items(w *worker, jr wire.JobReport, refs []Ref) []Ref {
	j := l.byID[jr.Job]
	var p *part
	var c *contributor
	if j == nil {
		l.spokenOf(w, jr.Job, jr.First+uint64(len(jr.Items))-1)
	} else {
		p = w.part(j)
		p.opened, p.mention = true, true
		c = j.contributor(w.id)
		if !j.ending {
			// A gap was dropped because some leader had said that the job was over.
			c.received = max(c.received, jr.First-1)
		}
	}
	for i, item := range jr.Items {
		ref := NoRef
		if item.Partial != nil {
			ref, refs = refs[0], refs[1:]
		}
		number := jr.First + uint64(i)
		if j == nil || j.ending || number <= c.received {
			l.forget(ref)
			continue
		}
		c.received = number
		j.dirty = true
		if item.Failure != nil {
			l.failure(j, w, item.Failure)
			continue
		}
		p.openFailed = 0
		j.executed += j.tree.Span(item.Partial.Node).Len()
		l.finish(j, item.Partial.Node, ref, true)
	}
	return refs
}

// tell completes a receipt with all that the worker has to know.
func (l *Ledger) tell(w *worker) {
	w.every = l.interval()
	w.receipt.Every = w.every
	for _, h := range w.held {
		if h.cut != nil && h.told {
			h.cut.told = true
			w.receipt.Cuts = append(w.receipt.Cuts, wire.Cut{ID: h.id, Hi: h.cut.at})
		}
	}
	l.tellAssigned(w)
	l.tellParked(w)
	w.parts = slices.DeleteFunc(w.parts, func(p *part) bool {
		if p.job.over {
			w.tellEnded(p.job.spec.ID)
			return true
		}
		c := p.job.contributors[w.id]
		if c != nil && (p.mention || p.received != c.received || p.durable != c.durable) {
			p.mention, p.received, p.durable = false, c.received, c.durable
			w.receipt.Jobs = append(w.receipt.Jobs, wire.JobReceipt{Job: p.job.spec.ID, Received: c.received, Durable: c.durable})
		}
		return false
	})
}

// tellAssigned tells the worker of its new assignments, and of their jobs where
// those are new to it.
func (l *Ledger) tellAssigned(w *worker) {
	room := openingBytes
	for _, h := range slices.Clone(w.held) {
		if h.told || l.stopping || !l.mayTell(h) {
			continue
		}
		if h.save > 0 && !h.job.forest.anyMissing(h.span) {
			l.release(h) // while it waited, somebody else did it
			continue
		}
		if !h.opened {
			size := len(h.job.opening.Params) + len(h.job.opening.Data)
			if size > room && len(w.receipt.Opens) > 0 {
				continue
			}
			room -= size
			h.opened = true
			w.receipt.Opens = append(w.receipt.Opens, h.job.opening)
		}
		h.told = true
		w.receipt.Assigned = append(w.receipt.Assigned, wire.Assignment{ID: h.id, Job: h.job.spec.ID, Span: h.span})
	}
}

// tellEnded says in the receipt that a job is over.
func (w *worker) tellEnded(job string) {
	if !slices.ContainsFunc(w.receipt.Jobs, func(r wire.JobReceipt) bool { return r.Job == job }) {
		w.receipt.Jobs = append(w.receipt.Jobs, wire.JobReceipt{Job: job, Ended: true})
	}
}

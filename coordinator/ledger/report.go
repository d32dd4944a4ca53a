package ledger

import (
	"fmt"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// maxOpeningBytes bounds the size of the parameters and plans of all openings in one receipt.
// Assignments of jobs whose opening would exceed maxOpeningBytes go into the next receipt. A
// receipt with only one opening may exceed maxOpeningBytes.
const maxOpeningBytes = 256 << 10

// onReport processes a worker's report and replies with a receipt. A repeated report gets the same
// receipt.
func (l *Ledger) onReport(e Reported) {
	r := e.Report
	w := l.worker(r.Worker)
	sameConversation := w != nil && r.Conversation == w.conversation
	switch {
	case r.Epoch != l.cfg.Epoch: // the report is addressed to another leader
		l.dropItems(e.Jobs)
		return
	case r.Hello != nil && !wire.SameStorage(r.Hello.Storage, l.cfg.Storage):
		l.refuse(e, wire.CheckStorage("worker "+r.Worker, r.Hello.Storage, "leader "+l.cfg.Self, l.cfg.Storage).Error())
		return
	case r.Hello != nil && w == nil && len(l.workers) >= l.cfg.MaxWorkers:
		l.refuse(e, fmt.Sprintf("the leader has %d workers, which is its limit", len(l.workers)))
		return
	case w == nil && r.Conversation > 0 && r.Conversation == l.departed[r.Worker].conversation:
		// The ledger no longer has the receipts of a removed worker's conversation. If the worker
		// later got one of the old receipts, it would ignore the receipt for its repeated hello as
		// a duplicate, and miss the openings.
		l.refuse(e, "the leader has removed this worker: begin a new conversation")
		return
	case r.Hello != nil && !sameConversation: // the worker is new or has started over
		w = l.register(r)
	case !sameConversation || r.Sequence > w.sequence+1:
		l.refuse(e, "the leader does not know this worker: begin again with sequence 1 and a hello")
		return
	case r.Sequence == w.sequence: // the worker repeats the report, because the receipt was lost
		l.dropItems(e.Jobs)
		l.do(Reply{w.id, w.receipt, w.operands})
		return
	case r.Sequence < w.sequence: // the worker already has the receipt
		l.dropItems(e.Jobs)
		return
	case w.startsOver:
		l.refuse(e, "the leader has not kept results of a job that was parked: begin again with sequence 1 and a hello")
		return
	}
	w.sequence = r.Sequence
	l.setDraining(w, r.Draining)
	l.setSlots(w, w.hello.Slots-r.LostSlots)
	w.callSlots, w.earlierCalls = max(0, w.hello.Slots-r.LostCalls), 0
	w.reportedAt, w.nudged, w.usage, w.server = l.now, false, r.Usage, r.Server
	w.lostAt = slices.DeleteFunc(r.LostAt, func(slot int) bool { return slot < 0 || slot >= wire.MaxRunning })
	w.receipt, w.operands = wire.Receipt{Epoch: l.cfg.Epoch, Sequence: r.Sequence, Storage: l.cfg.Storage, Holds: true}, map[wire.SpanID][]Ref{}
	for _, jr := range e.Jobs {
		l.receiveItems(w, jr)
	}
	if r.More { // the spans are in a later report
		l.recovery.await(w.id)
	} else {
		l.reconcileNodes(w, r.Nodes)
		l.judgeReported(w)
		l.reconcile(w, r.Spans)
		l.recovery.checkOff(w.id)
		l.checkRecovery()
		l.dispatch(w)
	}
	if w.benched(l.now) {
		w.receipt.Benched = w.blame.reason
	}
	l.completeReceipt(w)
	l.do(Reply{w.id, w.receipt, w.operands})
}

// refuse replies to a report with the reason why the ledger does not process it.
func (l *Ledger) refuse(e Reported, reason string) {
	l.dropItems(e.Jobs)
	l.do(Reply{Worker: e.Report.Worker, Receipt: wire.Receipt{
		Epoch: l.cfg.Epoch, Sequence: e.Report.Sequence, Refused: reason, Storage: l.cfg.Storage,
	}})
}

// dropItems drops the partials of a report that the ledger does not process.
func (l *Ledger) dropItems(list []JobReport) {
	for _, jr := range list {
		for _, item := range jr.Items {
			l.dropPartials(item.Ref)
		}
	}
}

// receiveItems processes the items of one job in a worker's report.
func (l *Ledger) receiveItems(w *worker, jr JobReport) {
	j := l.jobsByID[jr.Job]
	var s *jobShare
	var c *contributor
	if j == nil {
		l.onUnknownJob(w, jr.Job, jr.First+uint64(len(jr.Items))-1)
	} else if s = w.share(j); len(jr.Items) > 0 {
		s.opened = s.opened || slices.ContainsFunc(jr.Items, Item.NeedsPlan)
		s.ackDue = true
		c = j.contributor(w.id)
		if !j.ending() {
			// Missing item numbers belong to items that the worker has dropped, because an earlier
			// leader told it that the job had ended.
			c.received = max(c.received, jr.First-1)
		}
	}
	var d delivery
	for i, item := range jr.Items {
		number := jr.First + uint64(i)
		if j == nil || j.ending() || number <= c.received {
			l.dropPartials(item.Ref)
			continue
		}
		c.received = number
		j.checkpoint.dirty = true
		done := j.forest.done()
		switch {
		case j.hidesRung(item):
			l.dropPartials(item.Ref)
			l.fail(j, fmt.Sprintf("worker %s has merged partitions across a rung: its program has %s version %s without estimates", w.id, j.spec.Job, j.spec.Version))
		case !j.counts(item): // the partitions are above the prefix that suffices
			l.dropPartials(item.Ref)
		case item.Failure != nil:
			l.onFailure(j, w, item.Failure)
		case !j.admits(w.build()): // a leader with an old version, which does not pin jobs to builds, assigned the work
			l.dropPartials(item.Ref)
		case item.Held != nil: // the item only counts executions; reconcileNodes handles the node
			s.openFailures = 0
			s.computed(j.tree.Span(*item.Held))
			l.ran(w, j, j.tree.Span(*item.Held))
			j.builds.add(w.build())
			j.executed += j.tree.Span(*item.Held).Len()
		case item.Output != nil:
			l.onOutput(j, w, item.Output, item.Ref)
		default:
			l.onPartial(j, w, item.Partial, item.Ref)
		}
		j.spend(item, j.forest.done()-min(done, j.forest.done()))
		d = j.measure(d, w.id, item)
	}
	if len(jr.Items) > 0 && j != nil {
		j.measure(d, w.id, Item{})
	}
}

// onPartial handles a finished node in a worker's report. The result of a merge is dropped if it may lack
// other partitions than those that this leader has skipped: an earlier leader may have assigned the merge,
// or since the assignment a partition was skipped or a skipped partition counts again.
func (l *Ledger) onPartial(j *job, w *worker, p *wire.Partial, ref Ref) {
	node := FinishedNode{Node: p.Node, Ref: ref, Size: len(p.Data), Large: p.Blob != ""}
	switch {
	case p.Stored:
		l.onStored(j, p, node)
	case p.MergedFor == 0:
		w.share(j).openFailures = 0
		w.share(j).computed(j.tree.Span(p.Node))
		l.ran(w, j, j.tree.Span(p.Node))
		j.builds.add(w.build())
		j.executed += j.tree.Span(p.Node).Len()
		if j.lacking(j.tree.Span(p.Node)) != 0 && j.forest.covers(p.Node) {
			l.dropPartials(ref) // if the node were kept below a node that lacks skipped partitions, it could not replace that node
			return
		}
		l.finish(j, node, true)
	case p.Lacking == j.lacking(j.tree.Span(p.Node)) && (p.MergedFor == l.cfg.Epoch || j.setsLacking(p)):
		j.builds.add(w.build())
		j.uncounted = j.uncounted || p.MergedFor != l.cfg.Epoch
		l.finish(j, node, false)
	default:
		l.dropPartials(ref)
	}
}

// setsLacking reports whether Lacking describes the result of a merge, whichever leader assigned the
// merge. Earlier versions of leaders and workers do not set Lacking. The value 0 is therefore
// ambiguous, unless no leader may skip partitions of the job.
func (j *job) setsLacking(p *wire.Partial) bool { return p.Lacking != 0 || j.spec.MaxSkipped == 0 }

// completeReceipt adds to a worker's receipt the report interval, cuts, assignments, ended jobs,
// and the numbers of the items that are received or durable.
func (l *Ledger) completeReceipt(w *worker) {
	w.reportInterval = l.reportInterval()
	if w.draining { // it leaves without another message, so it must be probed soon
		w.reportInterval = min(w.reportInterval, max(l.cfg.IdleEvery, l.cfg.ReportEvery))
	}
	if w.reserved { // the time until its death is noticed counts as time for which its work ran
		w.reportInterval = min(w.reportInterval, max(l.cfg.ReportEvery, l.shareOfReports(l.reserved)))
	}
	w.receipt.Every = w.reportInterval
	l.watchSilence(w)
	for _, a := range w.assignments {
		if a.cut != nil && a.state >= stateSent {
			a.cut.sent = true
			w.receipt.Cuts = append(w.receipt.Cuts, wire.Cut{ID: a.id, Hi: a.cut.at})
		}
	}
	l.sendAssignments(w)
	l.checkUnknownJobs(w)
	l.orderNodes(w)
	w.shares = slices.DeleteFunc(w.shares, func(s *jobShare) bool {
		if s.job.state == jobEnded {
			l.sendEnded(w, s.job.spec.ID)
			return true
		}
		c := s.job.contributors[w.id]
		orders := len(s.release)+len(s.store) > 0
		if c == nil && orders {
			c = s.job.contributor(w.id)
		}
		audited := s.job.opening.Audit > 0
		if audited && c == nil {
			c = &contributor{}
		}
		if c != nil && (orders || audited || s.ackDue || s.sentReceived != c.received || s.sentDurable != c.durable) {
			s.ackDue, s.sentReceived, s.sentDurable = false, c.received, c.durable
			w.receipt.Jobs = append(w.receipt.Jobs, wire.JobReceipt{Job: s.job.spec.ID, Received: c.received, Durable: c.durable, Release: s.release, Store: s.store, Auditors: l.auditors(w, s.job)})
			s.release, s.store = nil, nil
		}
		return false
	})
}

// sendAssignments adds a worker's new assignments to its receipt, and the openings that the worker
// needs for them.
func (l *Ledger) sendAssignments(w *worker) {
	room, operandRoom := maxOpeningBytes, maxOperandBytes
	for _, a := range slices.Clone(w.assignments) {
		if a.state != statePlanned || l.stopping || !a.maySend() {
			continue
		}
		if a.waitsFor > 0 && !a.wanted() {
			l.release(a) // other workers finished the assignment while it waited for the checkpoint
			continue
		}
		var operands []*treeNode
		if a.call != nil {
			var wanted bool
			if operands, wanted = a.job.operands(a.call); !wanted {
				l.release(a)
				continue
			}
			size := 0
			for _, o := range operands {
				size += o.size
			}
			if size > operandRoom && operandRoom < maxOperandBytes {
				continue
			}
			operandRoom -= size
		}
		if !a.share.opened {
			opening := l.openingFor(w, a.job)
			size := len(opening.Params) + len(opening.Data) + len(opening.State)
			if size > room && len(w.receipt.Opens) > 0 {
				continue
			}
			room -= size
			a.share.opened = true
			w.receipt.Opens = append(w.receipt.Opens, opening)
		}
		a.state = stateSent
		assigned := wire.Assignment{ID: a.id, Job: a.job.spec.ID, Span: a.span, Alone: a.quarantined && a.call == nil}
		if again := a.attempt(); again > 1 {
			assigned.Attempt = again
		}
		if a.call != nil {
			assigned.Call = l.wireCall(w, a, operands)
		}
		w.receipt.Assigned = append(w.receipt.Assigned, assigned)
	}
}

// wireCall returns a call for a receipt. The caller must fill in the operands, except the operands
// that workers hold.
func (l *Ledger) wireCall(w *worker, a *assignment, operands []*treeNode) *wire.Call {
	made := &wire.Call{Function: a.call.function, Node: a.call.node, Operands: make([]wire.Partial, len(operands)), Failed: a.call.failed}
	if a.beside {
		made.Within = besideFor
	}
	switch a.call.function {
	case wire.Merge:
		made.Lacking = a.job.lacking(a.job.tree.Span(a.call.node))
	case wire.Finish:
		made.Lacking = a.job.lacking(a.job.result())
		if s := a.job.prefixes.stopped; s != nil {
			made.Prefix = s.At
		} else if made.Lacking == 0 {
			made.Key, made.Work = a.job.rootKey()
		}
	case wire.Estimate:
		made.Prefix = a.call.prefix
		made.Lacking = a.job.lacking(engine.Span{Hi: made.Prefix})
	}
	refs := make([]Ref, len(operands))
	for i, o := range operands {
		if h := o.held; h != nil && !(a.call.fromStorage && o.ref != NoRef) {
			made.Operands[i] = wire.Partial{Node: h.node, Size: h.size, Sum: h.sum, Holder: h.worker}
		} else {
			refs[i] = o.ref
		}
	}
	w.operands[a.id] = refs
	return made
}

// operands returns the nodes that are the operands of a call. It returns false if the call is no
// longer needed.
func (j *job) operands(c *call) (list []*treeNode, wanted bool) {
	switch {
	case c.done:
		return nil, false
	case c.function == wire.Merge:
		left, right, ok := j.forest.operands(c.node)
		return []*treeNode{left, right}, ok
	case c.function == wire.Finish:
		return j.resultNodes()
	case c.function == wire.Estimate:
		return j.prefixNodes(c.prefix)
	}
	return nil, true
}

// wanted reports whether an assignment contains unfinished work.
func (a *assignment) wanted() bool {
	if a.call != nil {
		return !a.call.done
	}
	return a.job.anyMissing(a.span)
}

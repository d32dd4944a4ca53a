package term

import (
	"fmt"
	"slices"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Report processes a worker's report. The report must be valid; the parameter size is the message's
// size in bytes. Report replies at once, or after the active jobs are loaded. There is no reply if
// the jobs are not loaded and the report does not fit into the backlog.
func (t *Term) Report(report wire.Report, size int, reply func(wire.Receipt)) {
	if report.Epoch != t.leadership.Epoch {
		reply(wire.Receipt{
			Epoch: t.leadership.Epoch, Sequence: report.Sequence, Storage: t.cfg.Storage,
			Refused: fmt.Sprintf("the report is for epoch %d, this is %d", report.Epoch, t.leadership.Epoch),
		})
		return
	}
	if t.ledger == nil {
		t.backlog.addReport(queuedReport{report, size, reply})
		return
	}
	refs := make([]ledger.Ref, 0, 16)
	for i := range report.Jobs {
		refs = t.storePartials(&report.Jobs[i], report.Worker, refs)
	}
	for _, n := range report.Nodes {
		if j := t.jobs.active[n.Job]; j != nil {
			j.blobs.exist = true // the worker may write the held partial to storage at any time
			j.noteSize(n.Size)
		}
	}
	if report.Hello != nil {
		defer t.unpark(report.Hello.Knows)
	}
	t.reply = reply
	t.step(ledger.Reported{Report: report, Refs: refs})
	if len(refs) > 0 && report.Hello == nil && t.ledger.Recovered() {
		t.mark(&t.timeline.firstResult)
	}
}

// storePartials puts the partials of a job's report into the table and appends their refs to refs.
// A damaged item is replaced with a failure, so that the item's partitions run again. If this
// leader has no plan because an earlier leader planned the job later, storePartials removes the
// items that need the plan. The worker later reports the removed items again.
func (t *Term) storePartials(report *wire.JobReport, worker string, refs []ledger.Ref) []ledger.Ref {
	j := t.jobs.active[report.Job]
	for i := range report.Items {
		item := &report.Items[i]
		if j != nil && j.tree.Partitions() == 0 && item.NeedsPlan() {
			report.Items = report.Items[:i]
			return refs
		}
		switch {
		case item.Failure != nil:
			continue
		case item.Held != nil:
			if j != nil && !j.tree.Contains(*item.Held) {
				*item = wire.Item{Failure: outsideTree(*item.Held, j.tree)}
			}
			continue
		}
		if j == nil {
			refs = append(refs, t.partials.add(partial{}))
			continue
		}
		stored := partial{job: report.Job}
		var failure *wire.Failure
		if o := item.Output; o != nil {
			stored.data, stored.blob = o.Data, o.Blob
			failure = checkOutput(o)
		} else {
			stored.data, stored.blob, stored.size = item.Partial.Data, item.Partial.Blob, item.Partial.Size
			failure = checkPartial(item.Partial, j.tree)
		}
		if failure != nil {
			t.log.Warn("Item refused", "job", report.Job, "worker", worker, "error", failure.Error)
			*item = wire.Item{Failure: failure}
			continue
		}
		if stored.blob != "" {
			j.blobs.exist = true
		}
		if item.Partial != nil {
			j.noteSize(stored.bytes())
		}
		refs = append(refs, t.partials.add(stored))
	}
	return refs
}

// checkOutput returns a failure if a call's output is damaged, or if the output of a call of Plan
// is not a valid plan.
func checkOutput(o *wire.Output) *wire.Failure {
	err := o.Check()
	if err == nil && o.Function == wire.Plan {
		_, err = jobs.NewTree(o.Partitions)
	}
	if err != nil {
		return &wire.Failure{Function: o.Function, Error: err.Error()}
	}
	return nil
}

// checkPartial returns a failure if a partial is damaged or does not belong to the job's
// tree.
func checkPartial(p *wire.Partial, tree jobs.Tree) *wire.Failure {
	if !tree.Contains(p.Node) {
		return outsideTree(p.Node, tree)
	}
	if err := p.Check(); err != nil {
		return &wire.Failure{Partition: tree.Span(p.Node).Lo, Error: fmt.Sprintf("node %v: %v", p.Node, err)}
	}
	return nil
}

// outsideTree returns the failure for a node that is not in a job's tree.
func outsideTree(n jobs.Node, tree jobs.Tree) *wire.Failure {
	noPartition := tree.Partitions() // this index belongs to no partition of the job
	return &wire.Failure{Partition: noPartition, Error: fmt.Sprintf("node %v is not in a tree of %d partitions", n, tree.Partitions())}
}

// withOperands returns a receipt in which the operands of calls are filled in. withOperands omits a
// call whose operands no longer exist, because the call's node or the job is finished.
func (t *Term) withOperands(r ledger.Reply) wire.Receipt {
	receipt, refs := r.Receipt, r.Operands
	receipt.Assigned = slices.Clone(receipt.Assigned)
	for i := range receipt.Assigned {
		a := &receipt.Assigned[i]
		if a.Call == nil {
			continue
		}
		call := *a.Call
		call.Operands = make([]wire.Partial, len(a.Call.Operands))
		for k := range call.Operands {
			if refs[k] == ledger.NoRef { // a worker holds the operand
				call.Operands[k] = a.Call.Operands[k]
				continue
			}
			if _, known := t.partials.byRef[refs[k]]; !known {
				call.Function = wire.Map // marks the call for omission from the receipt
				break
			}
			p := t.partials.use(refs[k])
			call.Operands[k] = wire.Partial{Node: call.Node, Blob: p.blob, Size: t.operandSize(p)}
			if p.data != nil || p.blob == "" {
				call.Operands[k] = wire.NewPartial(call.Node, p.data)
			}
		}
		refs = refs[len(call.Operands):]
		a.Call = &call
	}
	receipt.Assigned = slices.DeleteFunc(receipt.Assigned, func(a wire.Assignment) bool {
		return a.Call != nil && a.Call.Function == wire.Map
	})
	return receipt
}

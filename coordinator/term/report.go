package term

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs/engine"
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
		t.backlog.addReport(queuedReport{report, size, reply}, t.cfg.Ledger.MaxWorkers)
		return
	}
	e, last := ledger.Reported{Report: report}, t.partials.last
	for _, jr := range report.Jobs {
		e.Jobs = append(e.Jobs, t.storeItems(jr, report.Worker))
	}
	hasResult := t.partials.last > last
	for _, n := range report.Nodes {
		if j := t.active(n.Job); j != nil {
			j.blobs.exist = true // the worker may write the held partial to storage at any time
			j.noteSize(n.Size)
		}
	}
	if report.Hello != nil {
		defer t.unpark(report.Hello.Knows)
	}
	t.reply = reply
	t.step(e)
	t.yield()
	if hasResult && report.Hello == nil && t.ledger.Recovered() {
		t.mark(&t.timeline.firstResult)
	}
}

// storeItems puts the partials of a job's report into the table. If this leader has no plan because
// an earlier leader planned the job later, storeItems omits the items that need the plan. The worker
// later reports the omitted items again.
func (t *Term) storeItems(report wire.JobReport, worker string) ledger.JobReport {
	stored := ledger.JobReport{Job: report.Job, First: report.First, Items: make([]ledger.Item, 0, len(report.Items))}
	j := t.active(report.Job)
	for _, item := range report.Items {
		switch {
		case j == nil:
			stored.Items = append(stored.Items, ledger.Item{Item: item})
		case j.tree.Partitions() == 0 && item.NeedsPlan():
			return stored
		default:
			stored.Items = append(stored.Items, t.storeItem(j, item, worker))
		}
	}
	return stored
}

// storeItem puts the partial or the output of an item into the table. A damaged item is replaced
// with a failure, so that the item's partitions run again.
func (t *Term) storeItem(j *activeJob, item wire.Item, worker string) ledger.Item {
	stored := partial{job: j.id}
	var failure *wire.Failure
	switch {
	case item.Held != nil:
		if !j.tree.Contains(*item.Held) {
			failure = outsideTree(*item.Held, j.tree)
		}
	case item.Output != nil:
		stored.data, stored.blob = item.Output.Data, item.Output.Blob
		failure = checkOutput(item.Output)
	case item.Partial != nil:
		stored.data, stored.blob, stored.size = item.Partial.Data, item.Partial.Blob, item.Partial.Size
		failure = checkPartial(item.Partial, j.tree)
	}
	switch {
	case failure != nil:
		t.log.Warn("Item refused", "job", j.spec.ID, "worker", worker, "error", failure.Error)
		return ledger.Item{Item: wire.Item{Failure: failure}}
	case item.Output == nil && item.Partial == nil:
		return ledger.Item{Item: item}
	case item.Partial != nil:
		j.noteSize(stored.bytes())
	}
	j.blobs.exist = j.blobs.exist || stored.blob != ""
	return ledger.Item{Item: item, Ref: t.partials.add(stored)}
}

// checkOutput returns a failure if a call's output is damaged, or is no valid plan or no JSON of an estimate.
func checkOutput(o *wire.Output) *wire.Failure {
	err := o.Check()
	switch {
	case err != nil:
	case o.Function == wire.Plan:
		_, err = engine.NewTree(o.Partitions)
	case o.Function == wire.Estimate && !json.Valid(o.Data):
		err = fmt.Errorf("the estimate is not JSON: %.40q", o.Data)
	}
	if err != nil {
		return &wire.Failure{Function: o.Function, Error: err.Error()}
	}
	return nil
}

// checkPartial returns a failure if a partial is damaged or does not belong to the job's
// tree.
func checkPartial(p *wire.Partial, tree engine.Tree) *wire.Failure {
	if !tree.Contains(p.Node) {
		return outsideTree(p.Node, tree)
	}
	if err := p.Check(); err != nil {
		return &wire.Failure{Partition: tree.Span(p.Node).Lo, Error: fmt.Sprintf("node %v: %v", p.Node, err)}
	}
	return nil
}

// outsideTree returns the failure for a node that is not in a job's tree.
func outsideTree(n engine.Node, tree engine.Tree) *wire.Failure {
	noPartition := tree.Partitions() // this index belongs to no partition of the job
	return &wire.Failure{Partition: noPartition, Error: fmt.Sprintf("node %v is not in a tree of %d partitions", n, tree.Partitions())}
}

// withOperands returns a receipt in which the operands of calls are filled in. It omits a call
// whose operands no longer exist, because the call's node or the job is finished.
func (t *Term) withOperands(r ledger.Reply) wire.Receipt {
	receipt := r.Receipt
	receipt.Assigned = make([]wire.Assignment, 0, len(r.Receipt.Assigned))
	for _, a := range r.Receipt.Assigned {
		if a.Call != nil {
			operands, exist := t.operands(a.Call, r.Operands[a.ID])
			if !exist {
				continue
			}
			call := *a.Call // the ledger keeps its receipt, in case the report is repeated
			call.Operands = operands
			a.Call = &call
		}
		receipt.Assigned = append(receipt.Assigned, a)
	}
	return receipt
}

// operands returns the operands of a call. It returns false if one of them no longer exists.
func (t *Term) operands(call *wire.Call, refs []ledger.Ref) (operands []wire.Partial, exist bool) {
	operands = slices.Clone(call.Operands)
	for i, ref := range refs {
		if ref == ledger.NoRef { // a worker holds the operand
			continue
		}
		if t.partials.byRef[ref] == nil {
			return nil, false
		}
		p := t.partials.use(ref)
		if p.stored() {
			operands[i] = wire.Partial{Node: call.Node, Blob: p.blob, Size: t.operandSize(p)}
		} else {
			operands[i] = wire.NewPartial(call.Node, p.data)
		}
	}
	return operands, true
}

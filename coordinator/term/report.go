package term

import (
	"fmt"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Report takes in a worker's report, which is valid and came as that many bytes.
// It is answered at once, or once the active jobs are loaded, or, if too many
// come before that, not at all.
func (t *Term) Report(report wire.Report, size int, respond func(wire.Receipt)) {
	if report.Epoch != t.leadership.Epoch {
		respond(wire.Receipt{
			Epoch: t.leadership.Epoch, Sequence: report.Sequence,
			Refused: fmt.Sprintf("the report is for epoch %d, this is %d", report.Epoch, t.leadership.Epoch),
		})
		return
	}
	if t.ledger == nil {
		t.early.keepReport(reporting{report, size, respond})
		return
	}
	refs := make([]ledger.Ref, 0, 16)
	for i := range report.Jobs {
		refs = t.keep(&report.Jobs[i], report.Worker, refs)
	}
	t.answer = respond
	t.step(ledger.Reported{Report: report, Refs: refs})
	if len(refs) > 0 && report.Hello == nil && t.ledger.Recovered() {
		t.mark(&t.timeline.firstResult)
	}
}

// keep puts the partials of a report into the table and appends their refs. An
// item that is damaged becomes a failure, so that its partitions are run again.
func (t *Term) keep(report *wire.JobReport, worker string, refs []ledger.Ref) []ledger.Ref {
	j := t.jobs[report.Job]
	for i := range report.Items {
		item := &report.Items[i]
		if item.Failure != nil {
			item.Partial = nil
			continue
		}
		if j == nil {
			if item.Partial != nil {
				refs = append(refs, t.newRef(partial{}))
			}
			continue
		}
		if failure := check(item.Partial, j.tree); failure != nil {
			t.log.Warn("Partial refused", "job", report.Job, "worker", worker, "error", failure.Error)
			*item = wire.Item{Failure: failure}
			continue
		}
		if item.Partial.Blob != "" {
			j.blobs = true
		}
		refs = append(refs, t.newRef(partial{data: item.Partial.Data, blob: item.Partial.Blob, job: report.Job}))
	}
	return refs
}

// check returns a failure where a partial is not one of the job's, or damaged.
func check(p *wire.Partial, tree jobs.Tree) *wire.Failure {
	outside := tree.Partitions() // a failure of no partition
	switch {
	case p == nil:
		return &wire.Failure{Partition: outside, Error: "an item that is neither partial nor failure"}
	case !tree.Contains(p.Node):
		return &wire.Failure{Partition: outside, Error: fmt.Sprintf("node %v is not in a tree of %d partitions", p.Node, tree.Partitions())}
	}
	if err := p.Check(); err != nil {
		return &wire.Failure{Partition: tree.Span(p.Node).Lo, Error: fmt.Sprintf("node %v: %v", p.Node, err)}
	}
	return nil
}

// noteReceipt marks the moment of the term's first assignment.
func (t *Term) noteReceipt(receipt wire.Receipt) {
	if len(receipt.Assigned) > 0 {
		t.mark(&t.timeline.firstAssignment)
	}
}

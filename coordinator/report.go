package coordinator

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// reportIn is a report and the way to answer it.
type reportIn struct {
	report  wire.Report
	respond func([]byte) error
}

// maxEarly bounds the reports that wait while the active jobs are loaded. Those
// beyond it are sent again.
const maxEarly = 10_000

// hearReport decodes and checks a report beside the loop.
func (r *reign) hearReport(m *nats.Msg) error {
	report, err := wire.Decode[wire.Report](m.Data)
	if err != nil {
		return err
	}
	if err := report.Validate(); err != nil {
		return err
	}
	if report.Epoch != r.term.Epoch {
		return m.Respond(wire.Encode(wire.Receipt{
			Epoch: r.term.Epoch, Sequence: report.Sequence,
			Refused: fmt.Sprintf("the report is for epoch %d, this is %d", report.Epoch, r.term.Epoch),
		}))
	}
	r.post(reportIn{report, m.Respond})
	return nil
}

func (in reportIn) on(r *reign) {
	if r.ledger == nil {
		if len(r.early) < maxEarly {
			r.early = append(r.early, in)
		}
		return
	}
	refs := make([]ledger.Ref, 0, 16)
	for i := range in.report.Jobs {
		refs = r.keep(&in.report.Jobs[i], in.report.Worker, refs)
	}
	r.answer = func(receipt wire.Receipt) { _ = in.respond(wire.Encode(receipt)) } // a lost answer is asked for again
	r.step(ledger.Reported{Report: in.report, Refs: refs})
	if len(refs) > 0 && in.report.Hello == nil && r.ledger.Settled() {
		r.mark(&r.timeline.firstResult)
	}
}

// keep puts the partials of a report into the table and appends their refs. An
// item that is damaged becomes a failure, so that its partitions are run again.
func (r *reign) keep(report *wire.JobReport, worker string, refs []ledger.Ref) []ledger.Ref {
	j := r.jobs[report.Job]
	for i := range report.Items {
		item := &report.Items[i]
		if item.Failure != nil {
			item.Partial = nil
			continue
		}
		if j == nil {
			if item.Partial != nil {
				refs = append(refs, r.newRef(partial{}))
			}
			continue
		}
		if failure := check(item.Partial, j.tree); failure != nil {
			r.log.Warn("Partial refused", "job", report.Job, "worker", worker, "error", failure.Error)
			*item = wire.Item{Failure: failure}
			continue
		}
		refs = append(refs, r.newRef(partial{data: item.Partial.Data, blob: item.Partial.Blob}))
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

func (r *reign) newRef(p partial) ledger.Ref {
	r.lastRef++
	r.partials[r.lastRef] = p
	return r.lastRef
}

// noteReceipt marks the moment of the term's first assignment.
func (r *reign) noteReceipt(receipt wire.Receipt) {
	if len(receipt.Assigned) > 0 {
		r.mark(&r.timeline.firstAssignment)
	}
}

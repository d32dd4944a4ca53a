package coordinator

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// reportIn is a report and the way to answer it.
type reportIn struct {
	report  wire.Report
	respond func([]byte) error
	size    int // of the message, in bytes
}

// early is what was heard while the active jobs were loaded. What does not fit
// is sent again.
type early struct {
	reports map[string]reportIn // the last one of each worker
	bytes   int
	cancels []askCancel
}

const (
	maxEarly      = 10_000    // of each kind
	maxEarlyBytes = 512 << 20 // of reports
)

// keep keeps a worker's report in place of an earlier one.
func (e *early) keep(in reportIn) {
	worker := in.report.Worker
	before, again := e.reports[worker]
	bytes := e.bytes - before.size + in.size
	if !again && len(e.reports) == maxEarly || bytes > maxEarlyBytes {
		return
	}
	if e.reports == nil {
		e.reports = map[string]reportIn{}
	}
	e.reports[worker], e.bytes = in, bytes
}

func (e *early) on(r *reign) {
	for _, worker := range slices.Sorted(maps.Keys(e.reports)) {
		e.reports[worker].on(r)
	}
	for _, cancel := range e.cancels {
		cancel.on(r)
	}
}

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
	r.post(reportIn{report, m.Respond, len(m.Data)})
	return nil
}

func (in reportIn) on(r *reign) {
	if r.ledger == nil {
		r.early.keep(in)
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
		if item.Partial.Blob != "" {
			j.blobs.Store(true)
		}
		refs = append(refs, r.newRef(partial{data: item.Partial.Data, blob: item.Partial.Blob, job: report.Job}))
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

package term

import (
	"fmt"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Report processes a worker's report, which is valid and came in a message of size bytes.
// The reply follows at once, or when the active jobs are loaded. Until they are loaded, a
// report that does not fit into the backlog gets no reply.
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
	t.reply = reply
	t.step(ledger.Reported{Report: report, Refs: refs})
	if len(refs) > 0 && report.Hello == nil && t.ledger.Recovered() {
		t.mark(&t.timeline.firstResult)
	}
}

// storePartials puts the partials of a job's report into the table and appends their
// refs. It turns a damaged item into a failure, so that the item's partitions run again.
func (t *Term) storePartials(report *wire.JobReport, worker string, refs []ledger.Ref) []ledger.Ref {
	j := t.jobs.active[report.Job]
	for i := range report.Items {
		item := &report.Items[i]
		if item.Failure != nil {
			item.Partial = nil
			continue
		}
		if j == nil {
			if item.Partial != nil {
				refs = append(refs, t.partials.add(partial{}))
			}
			continue
		}
		if failure := check(item.Partial, j.tree); failure != nil {
			t.log.Warn("Partial refused", "job", report.Job, "worker", worker, "error", failure.Error)
			*item = wire.Item{Failure: failure}
			continue
		}
		if item.Partial.Blob != "" {
			j.blobs.exist = true
		}
		refs = append(refs, t.partials.add(partial{data: item.Partial.Data, blob: item.Partial.Blob, job: report.Job}))
	}
	return refs
}

// check returns a failure if a partial is damaged or does not belong to the job's tree.
func check(p *wire.Partial, tree jobs.Tree) *wire.Failure {
	noPartition := tree.Partitions() // an index that no partition of the job has
	switch {
	case p == nil:
		return &wire.Failure{Partition: noPartition, Error: "an item that is neither partial nor failure"}
	case !tree.Contains(p.Node):
		return &wire.Failure{Partition: noPartition, Error: fmt.Sprintf("node %v is not in a tree of %d partitions", p.Node, tree.Partitions())}
	}
	if err := p.Check(); err != nil {
		return &wire.Failure{Partition: tree.Span(p.Node).Lo, Error: fmt.Sprintf("node %v: %v", p.Node, err)}
	}
	return nil
}

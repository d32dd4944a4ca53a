package session

import (
	"cmp"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Bounds that together keep a report within [wire.MaxMessage], since a span
// takes at most 130 bytes.
const (
	// MaxHeld is how many spans a worker holds at most.
	MaxHeld = 2048

	// MaxInline is the most bytes of a partial that may go into a report; a larger
	// one must go into the store.
	MaxInline = 256 << 10

	// MaxKept is how many bytes of items a worker keeps before it begins nothing
	// more, about. So much piles up only where for long nothing becomes durable.
	MaxKept = 256 << 20

	itemBudget = 700 << 10 // bytes of items in a report
	jobSize    = 100       // bytes of a JobReport without its items, at most
	itemSize   = 48        // bytes of an item without its data or text, at most
)

// Ready reports whether a report may be made: a leader is followed, and no other
// report is under way.
func (b *Book) Ready() bool { return b.epoch > 0 && !b.underWay }

// Report makes the next report, which is then under way until its receipt, or
// until another leader is followed. The book must be Ready.
func (b *Book) Report() wire.Report {
	b.sequence++
	b.underWay = true
	b.urgent = false
	r := wire.Report{Epoch: b.epoch, Worker: b.worker, Conversation: b.talk, Sequence: b.sequence, Draining: b.draining}
	if b.sequence == 1 {
		hello := b.hello
		r.Hello = &hello
	}
	r.Jobs, r.More = b.unreceived()
	if !r.More {
		r.Spans = b.heldSpans()
	}
	b.more = r.More
	b.parted = b.draining && !r.More && len(r.Spans) == 0
	return r
}

// unreceived lists the items that the leader has not received, job by job, as
// far as they fit, and reports whether there are more.
func (b *Book) unreceived() (list []wire.JobReport, more bool) {
	budget := itemBudget
	for _, j := range b.jobs {
		items := j.items[j.received-j.dropped:]
		if len(items) == 0 {
			continue
		}
		budget -= jobSize
		report := wire.JobReport{Job: j.id, First: j.received + 1}
		for _, i := range items {
			if i.size > budget {
				more = true
				break
			}
			budget -= i.size
			report.Items = append(report.Items, i.Item)
		}
		if len(report.Items) > 0 {
			list = append(list, report)
		}
		if more {
			return list, true
		}
	}
	return list, false
}

// heldSpans lists what is held: first what runs, in order of arrival, then what
// waits, in about the order in which it will run.
func (b *Book) heldSpans() []wire.HeldSpan {
	var running, queued []*Run
	for _, j := range b.jobs {
		running = append(running, j.runs...)
		queued = append(queued, j.queue...)
	}
	slices.SortFunc(running, func(a, b *Run) int { return cmp.Compare(a.arrival, b.arrival) })
	slices.SortFunc(queued, func(a, b *Run) int {
		return cmp.Or(-cmp.Compare(a.job.opening.Priority, b.job.opening.Priority), cmp.Compare(a.arrival, b.arrival))
	})
	spans := make([]wire.HeldSpan, 0, b.held)
	for i, r := range slices.Concat(running, queued) {
		spans = append(spans, wire.HeldSpan{ID: r.id, Job: r.job.id, Span: jobs.Span{Lo: r.lo, Hi: r.hi}, Running: i < len(running)})
	}
	return spans
}

package book

import (
	"cmp"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Bounds that together keep a report within [wire.MaxMessage], since a span
// takes at most 130 bytes.
const (
	// MaxInline is the most bytes of a partial that may go into a report; a larger
	// one must go into the store.
	MaxInline = 256 << 10

	itemBudget = 600 << 10 // bytes of items in a report
	jobSize    = 100       // bytes of a JobReport without its items, at most
	maxUnsent  = 1024      // spans named in a report only for items that did not fit
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
	r := wire.Report{Epoch: b.epoch, Worker: b.worker, Sequence: b.sequence, Draining: b.draining}
	if b.sequence == 1 {
		hello := b.hello
		r.Hello = &hello
	}
	budget := itemBudget
	var late []unsent
	for _, j := range b.jobs {
		sent := j.send(&budget)
		if len(sent.Items) > 0 {
			r.Jobs = append(r.Jobs, sent)
		}
		late = append(late, j.unsentAfter(sent)...)
	}
	b.partial = len(late) > 0
	r.Spans = b.heldSpans(late)
	b.parted = b.draining && len(r.Spans) == 0
	return r
}

// send takes items that the leader has not received, as far as the budget goes.
func (j *job) send(budget *int) wire.JobReport {
	report := wire.JobReport{Job: j.id, First: j.received + 1}
	unsent := j.items[j.received-j.dropped:]
	if len(unsent) > 0 {
		*budget -= jobSize
	}
	for _, i := range unsent {
		if i.size > *budget {
			*budget = 0 // what others have waits for its turn
			break
		}
		*budget -= i.size
		report.Items = append(report.Items, i.Item)
	}
	return report
}

// unsent is the part of a span whose items are kept and not yet sent.
type unsent struct {
	id   wire.SpanID
	job  string
	span jobs.Span
}

// unsentAfter gathers, per span, what the items cover that did not fit. The
// items of a span follow one another, so what they cover is contiguous.
func (j *job) unsentAfter(sent wire.JobReport) []unsent {
	var list []unsent
	at := make(map[wire.SpanID]int)
	for _, i := range j.items[j.received-j.dropped+uint64(len(sent.Items)):] {
		if i.covers.Empty() {
			continue
		}
		if n, ok := at[i.span]; ok {
			list[n].span.Hi = i.covers.Hi
			continue
		}
		at[i.span] = len(list)
		list = append(list, unsent{i.span, j.id, i.covers})
	}
	return list
}

// heldSpans lists what is held, as the leader is to see it after this report: a
// span begins at the first partition whose item the leader has not got. First
// come those that are only held in this sense, then those that run, then those
// that wait.
func (b *Book) heldSpans(late []unsent) []wire.HeldSpan {
	var running, queued []*Run
	live := make(map[wire.SpanID]bool, b.held)
	for _, j := range b.jobs {
		running = append(running, j.runs...)
		queued = append(queued, j.queue...)
	}
	for _, r := range slices.Concat(running, queued) {
		live[r.id] = true
	}
	var spans []wire.HeldSpan
	from := make(map[wire.SpanID]uint64)
	for _, u := range late {
		if live[u.id] {
			from[u.id] = u.span.Lo
		} else if len(spans) < maxUnsent { // beyond, work is done again; better than no report
			spans = append(spans, wire.HeldSpan{ID: u.id, Job: u.job, Span: u.span, Running: true})
		}
	}
	slices.SortFunc(running, func(a, b *Run) int { return cmp.Compare(a.arrival, b.arrival) })
	slices.SortFunc(queued, func(a, b *Run) int {
		return cmp.Or(-cmp.Compare(a.job.opening.Priority, b.job.opening.Priority), cmp.Compare(a.arrival, b.arrival))
	})
	for i, r := range slices.Concat(running, queued) {
		lo := r.lo
		if first, ok := from[r.id]; ok {
			lo = first
		}
		spans = append(spans, wire.HeldSpan{ID: r.id, Job: r.job.id, Span: jobs.Span{Lo: lo, Hi: r.hi}, Running: i < len(running)})
	}
	return spans
}

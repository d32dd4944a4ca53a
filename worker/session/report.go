package session

import (
	"cmp"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Bounds that together keep a report within [wire.MaxMessage]. A span takes at most 130
// bytes.
const (
	// MaxHeld is how many spans and calls a worker holds at most.
	MaxHeld = 2048

	// MaxInline is how many bytes of a partial may go into a report. A larger partial goes
	// into storage.
	MaxInline = 256 << 10

	itemBudget = 700 << 10 // bytes of items in a report
	jobSize    = 100       // bytes of a JobReport without its items, at most
	itemSize   = 48        // bytes of an item without its data or text, at most
	nodeSize   = 130       // bytes of a held node, at most; all of them leave room for any item
)

// nextReport makes the next report and marks it as in flight.
func (s *Session) nextReport() wire.Report {
	c := &s.conversation
	c.sequence++
	c.inFlight = true
	s.schedule.urgent = false
	r := wire.Report{Epoch: s.leader.epoch, Worker: s.cfg.Worker, Conversation: c.id, Sequence: c.sequence, Draining: s.drain.begun}
	if c.sequence == 1 {
		hello := s.cfg.Hello
		r.Hello = &hello
	}
	if s.drain.begun {
		s.dropDurableNodes()
	}
	r.Jobs, r.More = s.unreceived()
	if !r.More {
		r.Spans, r.Nodes = s.heldSpans(), s.heldNodes()
	}
	s.work.alone.reported = !r.More
	r.LostSlots, r.LostCalls = s.occupied()
	for i, h := range s.work.slots {
		if h != nil && h.stray {
			r.LostAt = append(r.LostAt, i)
		}
	}
	c.moreFollows = r.More
	c.saidGoodbye = s.drain.begun && !r.More && len(r.Spans)+len(r.Nodes) == 0
	return r
}

// unreceived lists the items that the leader has not received, job by job, as many as fit
// into a report. unreceived also reports whether more items are not received.
func (s *Session) unreceived() (list []wire.JobReport, more bool) {
	budget := itemBudget - s.work.nodes*nodeSize
	for _, j := range s.work.jobs {
		items := j.items[j.received-j.durable:]
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

// occupied returns how many slots and how many calls run code for a span or a call that is
// not held any more.
func (s *Session) occupied() (slots, calls int) {
	calls = s.work.calling
	for _, j := range s.work.jobs {
		for _, h := range j.calls {
			if h.running {
				calls--
			}
		}
	}
	return s.work.straySlots, calls
}

// heldSpans lists the held spans: first the running ones, in order of arrival, then the
// queued ones, in about the order in which the queued spans will run. The held calls follow.
func (s *Session) heldSpans() []wire.HeldSpan {
	var running, queued []*HeldSpan
	for _, j := range s.work.jobs {
		running = append(running, j.running...)
		queued = append(queued, j.queued...)
	}
	slices.SortFunc(running, func(a, b *HeldSpan) int { return cmp.Compare(a.arrival, b.arrival) })
	slices.SortFunc(queued, func(a, b *HeldSpan) int {
		return cmp.Or(-cmp.Compare(a.job.opening.Priority, b.job.opening.Priority), cmp.Compare(a.arrival, b.arrival))
	})
	spans := make([]wire.HeldSpan, 0, s.work.held)
	for i, h := range slices.Concat(running, queued) {
		span := wire.HeldSpan{ID: h.id, Job: h.job.id, Span: jobs.Span{Lo: h.lo, Hi: h.hi}, Running: i < len(running), Done: h.done()}
		if span.Running {
			span.Slot = h.slot + 1
		}
		if h == s.work.alone.span {
			span.Step = s.work.alone.function
		}
		spans = append(spans, span)
	}
	for _, j := range s.work.jobs {
		for _, h := range j.calls {
			spans = append(spans, wire.HeldSpan{ID: h.id, Job: j.id, Function: h.call.Function, Node: h.call.Node, Running: h.running})
		}
	}
	return spans
}

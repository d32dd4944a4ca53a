package session

import (
	"cmp"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// The following bounds together keep a report below [wire.MaxMessage]. A span takes at most 130
// bytes of a report.
const (
	// MaxHeld is the maximum number of spans and calls that a worker holds.
	MaxHeld = 2048

	itemBudget = 700 << 10 // maximum total size in bytes of the items in a report
	jobSize    = 100       // maximum size in bytes of a JobReport without its items
	itemSize   = 60        // maximum size in bytes of an item without its data or text
	nodeSize   = 130       // maximum size in bytes of a held node; a report with all held nodes still has space for any item
)

// nextReport makes the next report and marks it as in flight.
func (s *Session) nextReport() wire.Report {
	c := &s.conversation
	c.sequence++
	c.inFlight = true
	s.schedule.urgent = false
	r := wire.Report{Epoch: s.leader.epoch, Worker: s.cfg.Worker, Conversation: c.id, Sequence: c.sequence, Draining: s.drain.begun, Server: s.leader.server}
	r.Usage.Memory = s.cfg.Memory()
	r.Usage.Cores = s.cfg.Cores()
	r.Usage.Items, r.Usage.Bytes = s.Kept()
	r.Usage.Nodes, r.Usage.NodeBytes = s.Held()
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

// unreceived returns the items that the leader has not received, grouped by job, as many as fit
// into a report. The result more is true if some items did not fit. A job without such items is
// listed once in a conversation, so that the leader tells the worker when the job ends.
func (s *Session) unreceived() (list []wire.JobReport, more bool) {
	budget := itemBudget - s.work.nodes*nodeSize
	for _, j := range s.work.jobs {
		items := j.items[j.received-j.durable:]
		if len(items) == 0 && (j.listed || budget < jobSize) {
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
		if len(report.Items) > 0 || len(items) == 0 {
			j.listed = true
			list = append(list, report)
		}
		if more {
			return list, true
		}
	}
	return list, false
}

// occupied returns how many slots and calls run code of a span or call that is no longer held.
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

// heldSpans returns the held spans: the running spans in order of arrival, and then the queued
// spans in the approximate order in which they will run. It lists the held calls after the spans.
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
		span := wire.HeldSpan{ID: h.id, Job: h.job.id, Span: engine.Span{Lo: h.lo, Hi: h.hi}, Running: i < len(running), Done: h.done()}
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

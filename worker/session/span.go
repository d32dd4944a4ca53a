package session

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// HeldSpan is a span that was assigned to the worker and is not finished. A slot gets a span from
// [Session.Take] and returns the span with [Session.Release].
type HeldSpan struct {
	id      wire.SpanID
	job     *job
	lo      uint64 // first partition that was not delivered
	ran     uint64 // first partition of the span's last claim
	claimed uint64 // first partition that no slot has claimed
	hi      uint64
	arrival uint64 // sequence number of the assignment; later spans have larger numbers
	attempt int    // number of the attempt at the span's partitions, from 1
	slot    int    // number of the slot that runs the span, from 0
	dropped bool   // the span is no longer held, so deliveries for it are ignored
	yields  bool   // the slot was told to release this span for another span
	lost    bool   // the span's slot runs code that does not return
	stray   bool   // the span is lost or its job has ended, but its slot has not released the span
	asked   bool   // the span's slot was asked to deliver results
}

// Job returns the ID of the span's job.
func (h *HeldSpan) Job() string { return h.job.id }

// Attempt returns the number of the attempt at the span's partitions, from 1, for logs.
func (h *HeldSpan) Attempt() int { return h.attempt }

// Auditors returns the IDs of other workers that can run the span's job. The list is empty unless the
// job is audited. A span that runs alone has no auditors, because it may end their processes.
func (s *Session) Auditors(h *HeldSpan) []string {
	if h == s.work.alone.span {
		return nil
	}
	return h.job.auditors
}

// Left returns the number of partitions of the span that no slot has claimed.
func (h *HeldSpan) Left() uint64 { return h.hi - h.claimed }

// Take returns the span that an idle slot should run next, or nil if no span is waiting. Among the
// jobs with waiting spans, Take prefers the highest priority, then the job with the fewest slots,
// and then the job that has waited longest for a slot. Among the waiting spans of a job, Take
// returns the span that was assigned first.
func (s *Session) Take() *HeldSpan {
	if s.drain.begun || s.work.busy == s.cfg.Hello.Slots || s.Full() {
		return nil
	}
	var next *job
	for _, j := range s.work.jobs {
		if j.runnable() && (next == nil || compareJobs(j, next) < 0) {
			next = j
		}
	}
	if next == nil {
		return nil
	}
	h := next.queued[0]
	next.queued = slices.Delete(next.queued, 0, 1)
	next.running = insertByArrival(next.running, h)
	h.slot = slices.Index(s.work.slots, nil)
	s.work.slots[h.slot] = h
	s.work.busy++
	s.work.taken++
	next.lastTaken = s.work.taken
	return h
}

func compareJobs(a, b *job) int {
	return cmp.Or(
		-cmp.Compare(a.opening.Priority, b.opening.Priority),
		cmp.Compare(len(a.running), len(b.running)),
		cmp.Compare(a.lastTaken, b.lastTaken),
		cmp.Compare(a.queued[0].arrival, b.queued[0].arrival),
	)
}

// runnable reports whether a waiting span of the job could run in a free slot.
func (j *job) runnable() bool { return j.state == open && len(j.queued) > 0 }

func insertByArrival(spans []*HeldSpan, h *HeldSpan) []*HeldSpan {
	at, _ := slices.BinarySearchFunc(spans, h, func(a, b *HeldSpan) int { return cmp.Compare(a.arrival, b.arrival) })
	return slices.Insert(spans, at, h)
}

// Claim returns the next partitions of a span that the span's slot should run, at most want. If
// Claim returns an empty span, the slot must deliver its results and release h. Claim returns an
// empty span if h is at its end, h was cut or dropped, a span with precedence needs the slot, or
// the kept items take too much memory. The parameter long is true if h has occupied its slot for
// the maximum time while another job of the same priority has no slot.
func (s *Session) Claim(h *HeldSpan, want uint64, long bool) engine.Span {
	if h.dropped || h.yields || s.drain.begun || h.claimed == h.hi || s.Full() {
		return engine.Span{}
	}
	if s.mustYield(h, long) {
		h.yields = true
		s.work.yielding++
		return engine.Span{}
	}
	claim := engine.Span{Lo: h.claimed, Hi: h.claimed + min(want, h.hi-h.claimed)}
	h.ran, h.claimed = claim.Lo, claim.Hi
	return claim
}

// done returns the number of the span's partitions that were run but not delivered. For a job
// without large partials, done returns 0, because results are delivered soon.
func (h *HeldSpan) done() uint64 {
	if !h.job.large {
		return 0
	}
	return max(h.ran, h.lo) - h.lo
}

// mustYield reports whether h must release its slot, because more spans with precedence over h are
// waiting than slots are idle or will soon be idle.
func (s *Session) mustYield(h *HeldSpan, long bool) bool {
	waiting := 0
	for _, j := range s.work.jobs {
		switch {
		case !j.runnable():
		case j.opening.Priority > h.job.opening.Priority:
			waiting += len(j.queued)
		case j.opening.Priority == h.job.opening.Priority && long && len(j.running) == 0:
			waiting++
		}
	}
	return waiting > s.cfg.Hello.Slots-s.work.busy+s.work.yielding
}

// HandOver returns the partition up to which a slot that continues to run should deliver its
// results. The parameter next is the first partition that the slot has not run. HandOver rounds
// next down to a boundary of the tree, so that few nodes cover the delivered range. At most an
// eighth of the results remains for the next delivery. If the span will end before the slot has run
// as many partitions again, nothing is delivered until then, for the same reason.
//
// If the job's partials are large, nothing is delivered until the span ends, because an earlier
// delivery would split nodes and would not make anything durable.
func (s *Session) HandOver(h *HeldSpan, next uint64) uint64 {
	if next == h.hi {
		return next
	}
	if h.job.large || h.hi-next < next-h.lo {
		return h.lo
	}
	return engine.Span{Lo: h.lo, Hi: next}.Aligned().Hi
}

// Deliver accepts a slot's results since its last delivery: items, in order, that cover exactly the
// partitions from the last delivery to hi. The slot keeps the results of the partitions from hi to
// next. Claimed partitions from next on were not run and can be claimed again. If Deliver returns
// an error, it has not accepted any item.
//
// A large partial is delivered as an item with Held, together with a HeldNode in held, if
// [Session.MayHold] allows it. The caller keeps a delivered large partial until [DropNode] or
// [EndJob]. If the span is no longer held, the caller must drop the large partial.
func (s *Session) Deliver(h *HeldSpan, hi, next uint64, delivered []wire.Item, held ...wire.HeldNode) error {
	s.handedOver(h)
	if h.dropped {
		for _, d := range delivered {
			h.job.refuse(blobsOf(d))
		}
		return nil
	}
	items := make([]item, 0, len(delivered))
	at := h.lo
	for _, d := range delivered {
		var covers engine.Span
		switch {
		case d.Failure != nil:
			covers = engine.Span{Lo: d.Failure.Partition, Hi: d.Failure.Partition + 1}
		case d.Held != nil && h.job.tree.Contains(*d.Held) && slices.ContainsFunc(held, func(n wire.HeldNode) bool { return n.Node == *d.Held }):
			covers = h.job.tree.Span(*d.Held)
		case d.Partial == nil || !h.job.tree.Contains(d.Partial.Node):
			return fmt.Errorf("deliver span %v: an item is no node of the tree", h.id)
		case len(d.Partial.Data) > wire.MaxInline:
			return fmt.Errorf("deliver span %v: node %v has %d bytes, at most %d are allowed", h.id, d.Partial.Node, len(d.Partial.Data), wire.MaxInline)
		default:
			covers = h.job.tree.Span(d.Partial.Node)
		}
		if covers.Lo != at {
			return fmt.Errorf("deliver span %v: want partition %d next, got %v", h.id, at, covers)
		}
		at = covers.Hi
		items = append(items, item{Item: d, span: h.id, blobs: blobsOf(d)})
	}
	if at != hi || hi > next || next > h.claimed {
		return fmt.Errorf("deliver span %v: the items reach to %d, want %d; the slot has run to %d and claimed to %d", h.id, at, hi, next, h.claimed)
	}
	for _, i := range items {
		s.keep(h.job, i)
		if i.Failure != nil {
			s.hurry()
		}
	}
	for _, n := range held {
		s.holdNode(h.job, n)
	}
	h.lo, h.claimed = hi, next
	if h.lo == h.hi {
		s.drop(h)
		switch {
		case len(h.job.queued)+len(h.job.running) == 0:
			s.hurry()
		case s.runningShort():
			s.runShort()
		}
	}
	return nil
}

// runningShort reports whether the number of queued spans will be less than half the number of
// slots after the next slot has taken a span. If work is running short, the leader should soon
// assign more spans. Otherwise the end of a span is not urgent, because a worker with many slots
// would send too many reports.
func (s *Session) runningShort() bool { return 2*(s.Queued()-1) < s.cfg.Hello.Slots }

// Lose records that the code of a cancelled span does not return. Until the slot releases the lost
// span, the worker has one slot less. A lost span is no longer held. If the span's job has not
// ended, Lose reports the failure f for the running partition, and gives back the other undelivered
// partitions.
func (s *Session) Lose(h *HeldSpan, f wire.Failure) {
	if h.lost {
		return
	}
	h.lost = true
	s.work.lostSlots++
	s.strays(h)
	s.Abandon(h, f)
	s.hurry()
}

// strays records that code of a span that is no longer held occupies a slot. The short time between
// a slot's last delivery and its release does not count.
func (s *Session) strays(h *HeldSpan) {
	if !h.stray {
		h.stray = true
		s.work.straySlots++
	}
}

// Holds reports whether the worker still holds a span, so that results for it are accepted.
func (s *Session) Holds(h *HeldSpan) bool { return !h.dropped }

// Release returns a span and its slot to the session. Undelivered partitions of a released span are
// queued again, or dropped if the worker drains.
func (s *Session) Release(h *HeldSpan) {
	s.handedOver(h)
	s.work.slots[h.slot] = nil
	s.work.busy--
	if h.lost {
		h.lost = false
		s.work.lostSlots--
	}
	if h.stray {
		h.stray = false
		s.work.straySlots--
		s.hurry() // the leader must soon learn that the slot is usable, because it assigns nothing to a lost slot
	}
	if h.yields {
		h.yields = false
		s.work.yielding--
	}
	if s.drain.begun {
		s.hurry()
	}
	if h.dropped {
		return
	}
	h.claimed = h.lo
	if s.drain.begun {
		s.drop(h)
		return
	}
	j := h.job
	j.running = slices.DeleteFunc(j.running, func(o *HeldSpan) bool { return o == h })
	j.queued = insertByArrival(j.queued, h)
}

// Abandon drops the undelivered partitions of a span after the failure of one of them. The slot
// must still release an abandoned span.
func (s *Session) Abandon(h *HeldSpan, f wire.Failure) {
	s.handedOver(h)
	if h.dropped {
		return
	}
	f.Partition = max(h.lo, min(f.Partition, h.hi-1))
	s.keep(h.job, item{Item: wire.Item{Failure: &f}, span: h.id})
	s.drop(h)
	s.hurry()
}

// drop removes a span from the held spans.
func (s *Session) drop(h *HeldSpan) {
	h.dropped = true
	s.work.held--
	same := func(o *HeldSpan) bool { return o == h }
	h.job.queued = slices.DeleteFunc(h.job.queued, same)
	h.job.running = slices.DeleteFunc(h.job.running, same)
}

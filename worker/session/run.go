package session

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Take gives an idle slot the span to run next, or nil: that of the job with the
// highest priority; among equals of the one that has the fewest slots; then of
// the one that has waited longest for a slot; and of its spans the one that
// arrived first.
func (b *Book) Take() *Run {
	if b.draining || b.busy == b.slots || b.Full() {
		return nil
	}
	var next *job
	for _, j := range b.jobs {
		if j.waits() && (next == nil || before(j, next) < 0) {
			next = j
		}
	}
	if next == nil {
		return nil
	}
	r := next.queue[0]
	next.queue = slices.Delete(next.queue, 0, 1)
	next.runs = insert(next.runs, r)
	b.busy++
	b.turns++
	next.turn = b.turns
	return r
}

func before(a, b *job) int {
	return cmp.Or(
		-cmp.Compare(a.opening.Priority, b.opening.Priority),
		cmp.Compare(len(a.runs), len(b.runs)),
		cmp.Compare(a.turn, b.turn),
		cmp.Compare(a.queue[0].arrival, b.queue[0].arrival),
	)
}

// waits reports whether a span of the job could run, were there a slot.
func (j *job) waits() bool { return j.state == open && len(j.queue) > 0 }

// insert puts a run in its place by arrival.
func insert(runs []*Run, r *Run) []*Run {
	at, _ := slices.BinarySearchFunc(runs, r, func(a, b *Run) int { return cmp.Compare(a.arrival, b.arrival) })
	return slices.Insert(runs, at, r)
}

// Claim gives a run its next partitions to begin, at most want. An empty span
// means that the slot should deliver what it has done and release the run: the
// run is at its end, or was cut, or is to make room for one that has more right
// to a slot, or too much is kept. Long says that the run has had its slot for longer than a job should
// while another of the same priority has none.
func (b *Book) Claim(r *Run, want uint64, long bool) jobs.Span {
	if r.gone || r.yields || b.draining || r.claimed == r.hi || b.Full() {
		return jobs.Span{}
	}
	if b.mustYield(r, long) {
		r.yields = true
		b.yielding++
		return jobs.Span{}
	}
	claim := jobs.Span{Lo: r.claimed, Hi: r.claimed + min(want, r.hi-r.claimed)}
	r.claimed = claim.Hi
	return claim
}

// mustYield reports whether there are more spans with a better right to a slot
// than slots that are idle or about to be.
func (b *Book) mustYield(r *Run, long bool) bool {
	waiting := 0
	for _, j := range b.jobs {
		switch {
		case !j.waits():
		case j.opening.Priority > r.job.opening.Priority:
			waiting += len(j.queue)
		case j.opening.Priority == r.job.opening.Priority && long && len(j.runs) == 0:
			waiting++
		}
	}
	return waiting > b.slots-b.busy+b.yielding
}

// HandOver is up to where a slot that has run the partitions before next, and goes
// on, should deliver them: a boundary in the tree, so that few nodes cover them. The
// eighth that this leaves at most goes with what comes next.
func (b *Book) HandOver(r *Run, next uint64) uint64 {
	if next == r.hi {
		return next
	}
	return jobs.Span{Lo: r.lo, Hi: next}.Aligned().Hi
}

// Deliver takes what a run has done since the last delivery: items that stand,
// in order, for exactly the partitions from there to hi. The slot keeps what it has
// run from there to next. Partitions claimed from next on count as not begun again.
// An error means that nothing was taken.
func (b *Book) Deliver(r *Run, hi, next uint64, delivered []wire.Item) error {
	if r.gone {
		return nil
	}
	items := make([]item, 0, len(delivered))
	at := r.lo
	for _, d := range delivered {
		var covers jobs.Span
		switch {
		case d.Failure != nil:
			covers = jobs.Span{Lo: d.Failure.Partition, Hi: d.Failure.Partition + 1}
		case d.Partial == nil || !r.job.tree.Contains(d.Partial.Node):
			return fmt.Errorf("deliver span %v: an item is no node of the tree", r.id)
		case len(d.Partial.Data) > MaxInline:
			return fmt.Errorf("deliver span %v: node %v has %d bytes, at most %d are allowed", r.id, d.Partial.Node, len(d.Partial.Data), MaxInline)
		default:
			covers = r.job.tree.Span(d.Partial.Node)
		}
		if covers.Lo != at {
			return fmt.Errorf("deliver span %v: want partition %d next, got %v", r.id, at, covers)
		}
		at = covers.Hi
		items = append(items, item{Item: d, span: r.id})
	}
	if at != hi || hi > next || next > r.claimed {
		return fmt.Errorf("deliver span %v: the items reach to %d, want %d, the slot to %d, its claim to %d", r.id, at, hi, next, r.claimed)
	}
	for _, i := range items {
		b.keep(r.job, i)
		if i.Failure != nil {
			b.urgent = true
		}
	}
	r.lo, r.claimed = hi, next
	if r.lo == r.hi {
		b.letGo(r)
		b.urgent = b.urgent || b.short() || len(r.job.queue)+len(r.job.runs) == 0
	}
	return nil
}

// short reports whether, once a slot that is at the end of its span has taken the
// next, fewer wait than would do for half of the slots, so that the leader should soon
// assign more. A worker of many slots would speak all the time if it did so at the end
// of each span.
func (b *Book) short() bool { return 2*(b.Queued()-1) < b.slots }

// keep appends an item to those of a job.
func (b *Book) keep(j *job, i item) {
	i.size = itemSize
	if p := i.Partial; p != nil {
		i.size += len(p.Data) + len(p.Blob)
	}
	if f := i.Failure; f != nil {
		i.size += len(f.Error)
	}
	j.items = append(j.items, i)
	b.bytes += i.size
}

// Release gives the slot of a run back. What the run has not delivered goes back
// to the queue, or is given up where the worker drains.
func (b *Book) Release(r *Run) {
	b.busy--
	if r.yields {
		r.yields = false
		b.yielding--
	}
	if r.gone {
		return
	}
	r.claimed = r.lo
	if b.draining {
		b.letGo(r)
		b.urgent = true
		return
	}
	j := r.job
	j.runs = slices.DeleteFunc(j.runs, func(o *Run) bool { return o == r })
	j.queue = insert(j.queue, r)
}

// Abandon gives up all that a run has not delivered, because of a failure that
// has no other remedy. It is reported as that of the first of these partitions.
// The run is still to be released.
func (b *Book) Abandon(r *Run, f wire.Failure) {
	if r.gone {
		return
	}
	f.Partition = r.lo
	b.keep(r.job, item{Item: wire.Item{Failure: &f}, span: r.id})
	b.letGo(r)
	b.urgent = true
}

// letGo ends the holding of a span.
func (b *Book) letGo(r *Run) {
	r.gone = true
	b.held--
	same := func(o *Run) bool { return o == r }
	r.job.queue = slices.DeleteFunc(r.job.queue, same)
	r.job.runs = slices.DeleteFunc(r.job.runs, same)
}

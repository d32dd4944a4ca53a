package ledger

import (
	"cmp"
	"iter"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// assignments are those of a job, by ID. A big cluster holds tens of thousands: what
// is struck off stays in its place until it is half of the list, or each release
// would move all that come later.
type assignments struct {
	list   []*held
	struck int // how many of the list are
}

func (a *assignments) len() int { return len(a.list) - a.struck }

// find returns the assignment of that ID, or nil.
func (a *assignments) find(id wire.SpanID) *held {
	if i, found := a.search(id); found && !a.list[i].struck {
		return a.list[i]
	}
	return nil
}

// add enters an assignment. There must be none of its ID.
func (a *assignments) add(h *held) {
	i, found := a.search(h.id)
	if found { // one that is struck
		a.list[i] = h
		a.struck--
		return
	}
	a.list = slices.Insert(a.list, i, h)
}

// remove strikes one of the assignments off.
func (a *assignments) remove(h *held) {
	h.struck = true
	a.struck++
	if 2*a.struck > len(a.list) {
		a.list = slices.DeleteFunc(a.list, func(h *held) bool { return h.struck })
		a.struck = 0
	}
}

// all goes through the assignments by ID. None may be added or removed meanwhile.
func (a *assignments) all() iter.Seq[*held] {
	return func(yield func(*held) bool) {
		for _, h := range a.list {
			if !h.struck && !yield(h) {
				return
			}
		}
	}
}

// backward goes through them from the last one on.
func (a *assignments) backward() iter.Seq[*held] {
	return func(yield func(*held) bool) {
		for _, h := range slices.Backward(a.list) {
			if !h.struck && !yield(h) {
				return
			}
		}
	}
}

func (a *assignments) search(id wire.SpanID) (int, bool) {
	return slices.BinarySearchFunc(a.list, id, func(h *held, id wire.SpanID) int {
		return cmp.Or(cmp.Compare(h.id.Epoch, id.Epoch), cmp.Compare(h.id.Number, id.Number))
	})
}

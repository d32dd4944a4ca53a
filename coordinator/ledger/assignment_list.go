package ledger

import (
	"cmp"
	"iter"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// assignmentList is the list of a job's assignments, sorted by ID. A job in a big cluster has tens
// of thousands of assignments. Released assignments stay in the list until they are half of it,
// because each single removal would move all later assignments.
type assignmentList struct {
	list     []*assignment
	released int // number of released assignments that are still in the list
}

func (l *assignmentList) len() int { return len(l.list) - l.released }

// find returns the assignment with an ID, or nil.
func (l *assignmentList) find(id wire.SpanID) *assignment {
	if i, found := l.search(id); found && l.list[i].state != stateReleased {
		return l.list[i]
	}
	return nil
}

// add adds an assignment. The list must not contain an unreleased assignment with the same ID.
func (l *assignmentList) add(a *assignment) {
	i, found := l.search(a.id)
	if found {
		l.list[i] = a
		l.released--
		return
	}
	l.list = slices.Insert(l.list, i, a)
}

// release marks an assignment of the list as released.
func (l *assignmentList) release(a *assignment) {
	a.state = stateReleased
	l.released++
	if 2*l.released > len(l.list) {
		l.list = slices.DeleteFunc(l.list, func(a *assignment) bool { return a.state == stateReleased })
		l.released = 0
	}
}

// all iterates over the assignments in the order of their IDs; the loop must not change the list.
func (l *assignmentList) all() iter.Seq[*assignment] {
	return func(yield func(*assignment) bool) {
		for _, a := range l.list {
			if a.state != stateReleased && !yield(a) {
				return
			}
		}
	}
}

// backward iterates from the last assignment to the first; the loop must not change the list.
func (l *assignmentList) backward() iter.Seq[*assignment] {
	return func(yield func(*assignment) bool) {
		for _, a := range slices.Backward(l.list) {
			if a.state != stateReleased && !yield(a) {
				return
			}
		}
	}
}

func (l *assignmentList) search(id wire.SpanID) (int, bool) {
	return slices.BinarySearchFunc(l.list, id, func(a *assignment, id wire.SpanID) int {
		return cmp.Or(cmp.Compare(a.id.Epoch, id.Epoch), cmp.Compare(a.id.Number, id.Number))
	})
}

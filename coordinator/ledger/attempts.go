package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// attempt is a partition that failed and is not finished.
type attempt struct {
	store.Attempt
	due     time.Duration // not to be tried again before
	avoid   string        // the worker it failed on last
	waiting bool          // it waits to be assigned, by itself
}

// attempts are the failing partitions of a job, in order.
type attempts struct {
	list    []attempt
	waiting int           // how many of them wait
	idle    time.Duration // until then none of those that wait is due
}

// get returns a partition's entry, which is new where it has not failed yet. It
// is valid until the next call.
func (a *attempts) get(partition uint64) *attempt {
	i := a.search(partition)
	if i == len(a.list) || a.list[i].Partition != partition {
		a.list = slices.Insert(a.list, i, attempt{Attempt: store.Attempt{Partition: partition}})
	}
	return &a.list[i]
}

// in returns the entries of the partitions in the span.
func (a *attempts) in(span jobs.Span) []attempt {
	if len(a.list) == 0 || span.Empty() {
		return nil
	}
	return a.list[a.search(span.Lo):a.search(span.Hi)]
}

// waits reports whether the partition waits to be tried again.
func (a *attempts) waits(partition uint64) bool {
	found := a.in(single(partition))
	return len(found) == 1 && found[0].waiting
}

// setWaiting says of an entry whether its partition waits to be tried again.
func (a *attempts) setWaiting(x *attempt, waiting bool) {
	if x.waiting != waiting {
		x.waiting = waiting
		if waiting {
			a.waiting++
			a.idle = min(a.idle, x.due)
		} else {
			a.waiting--
		}
	}
}

// remove drops the entries of the partitions in the span.
func (a *attempts) remove(span jobs.Span) {
	found := a.in(span)
	if len(found) == 0 {
		return
	}
	for i := range found {
		a.setWaiting(&found[i], false)
	}
	i := a.search(span.Lo)
	a.list = slices.Delete(a.list, i, i+len(found))
}

func (a *attempts) search(partition uint64) int {
	i, _ := slices.BinarySearchFunc(a.list, partition, func(x attempt, p uint64) int { return cmp.Compare(x.Partition, p) })
	return i
}

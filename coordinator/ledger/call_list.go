package ledger

import (
	"cmp"
	"iter"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// callList contains the unfinished calls of a job. A job with many partials on few workers has tens of thousands of
// merges, so only loops that do little for each call walk all of them.
type callList struct {
	list   []*call // in the order in which the calls were added; calls that are done stay until they are half of the list
	done   int     // number of calls of the list that are done
	next   int     // place in the list at which the next loop over a part of the queued calls begins
	byNode map[calledFor]*call
	merges sortedList[mergeAt]
	record []store.CallRecord // records in the manifest for calls that were not added again
}

// calledFor identifies a call of a job.
type calledFor struct {
	function wire.Function
	node     engine.Node
}

// mergeAt is a call of Merge, at the first partition of its node. Of several nodes that begin there, the lowest comes first.
type mergeAt struct {
	lo   uint64
	call *call
}

// Compare orders merges by their first partition and level.
func (m mergeAt) Compare(o mergeAt) int {
	return cmp.Or(cmp.Compare(m.lo, o.lo), cmp.Compare(m.level(), o.level()))
}

func (m mergeAt) level() uint8 {
	if m.call == nil {
		return 0
	}
	return m.call.node.Level
}

func atNode(c *call) mergeAt { return mergeAt{c.node.Index << c.node.Level, c} }

func (l *callList) len() int { return len(l.byNode) }

// find returns the call of a function, or nil.
func (l *callList) find(function wire.Function, node engine.Node) *call {
	return l.byNode[calledFor{function, node}]
}

// add adds a call, which must not be in the list.
func (l *callList) add(c *call) {
	if l.byNode == nil {
		l.byNode = make(map[calledFor]*call)
	}
	l.list = append(l.list, c)
	l.byNode[calledFor{c.function, c.node}] = c
	if c.function == wire.Merge {
		l.merges.insert(atNode(c))
	}
}

// remove marks a call of the list as done, and removes it.
func (l *callList) remove(c *call) {
	c.done = true
	if l.find(c.function, c.node) != c {
		return
	}
	delete(l.byNode, calledFor{c.function, c.node})
	if c.function == wire.Merge {
		l.merges.remove(atNode(c))
	}
	if l.done++; 2*l.done <= len(l.list) {
		return
	}
	left := make([]*call, 0, l.len()) // loops may still walk the old list
	next := 0
	for i, c := range l.list {
		if i == l.next {
			next = len(left)
		}
		if !c.done {
			left = append(left, c)
		}
	}
	l.list, l.done, l.next = left, 0, next
}

// all iterates over the calls in the order in which they were added. The loop may change the list. It does not get calls that it adds.
func (l *callList) all() iter.Seq[*call] {
	return func(yield func(*call) bool) {
		for _, c := range l.list {
			if !c.done && !yield(c) {
				return
			}
		}
	}
}

// maxQueued is the maximum number of calls in a loop that looks for a worker for each of them.
const maxQueued = 1024

// queued iterates over the calls that are not assigned, in the order in which they were added. A loop over more than maxQueued
// calls ends after maxQueued of them, and the next loop begins with the call after the last one. The loop must not add calls.
func (l *callList) queued() iter.Seq[*call] {
	return func(yield func(*call) bool) {
		list, from := l.list, l.next
		if l.len() <= maxQueued {
			from = 0
		}
		looped := 0
		for i := range list {
			at := (from + i) % len(list)
			c := list[at]
			if c.done || c.assignment != nil {
				continue
			}
			if looped++; looped > maxQueued {
				l.next = at
				return
			}
			if !yield(c) {
				return
			}
		}
	}
}

// within returns the merges of nodes in a span of a tree.
func (l *callList) within(tree engine.Tree, span engine.Span) (list []*call) {
	for m := range l.merges.from(mergeAt{lo: span.Lo}) {
		if m.lo >= span.Hi {
			break
		}
		if span.Contains(tree.Span(m.call.node)) {
			list = append(list, m.call)
		}
	}
	return list
}

// any reports whether a call satisfies a condition.
func (l *callList) any(satisfies func(*call) bool) bool {
	return slices.ContainsFunc(l.list, func(c *call) bool { return !c.done && satisfies(c) })
}

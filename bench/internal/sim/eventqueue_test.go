package sim

import (
	"container/heap"
	"time"
)

// eventQueue is the clock and the future events. Events at the same time run in the order of their addition.
type eventQueue struct {
	now    time.Duration // time since the simulation began
	added  uint64
	events eventHeap
}

type event struct {
	at    time.Duration
	order uint64
	do    func()
}

func (q *eventQueue) after(d time.Duration, do func()) {
	q.added++
	heap.Push(&q.events, event{q.now + max(0, d), q.added, do})
}

// runNext runs the next event, or returns false if none is due until the given time.
func (q *eventQueue) runNext(until time.Duration) bool {
	if len(q.events) == 0 || q.events[0].at > until {
		return false
	}
	e := heap.Pop(&q.events).(event)
	q.now = e.at
	e.do()
	return true
}

// eventHeap is a heap of events, sorted by time, for package container/heap.
type eventHeap []event

func (h eventHeap) Len() int { return len(h) }

func (h eventHeap) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].order < h[j].order
}

func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *eventHeap) Push(x any) { *h = append(*h, x.(event)) }

func (h *eventHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = event{}
	*h = (*h)[:last]
	return x
}

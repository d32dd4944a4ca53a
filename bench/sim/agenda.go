package sim

import (
	"container/heap"
	"time"
)

// agenda is simulated time: what will happen, and when. Things of the same
// instant happen in the order in which they were entered.
type agenda struct {
	now     time.Duration // since the simulation began
	entered uint64
	entries entries
}

type entry struct {
	at    time.Duration
	order uint64
	do    func()
}

// after enters something to happen after d.
func (a *agenda) after(d time.Duration, do func()) {
	a.entered++
	heap.Push(&a.entries, entry{a.now + max(0, d), a.entered, do})
}

// turn lets the next thing happen, unless it is later than until or there is none.
func (a *agenda) turn(until time.Duration) bool {
	if len(a.entries) == 0 || a.entries[0].at > until {
		return false
	}
	e := heap.Pop(&a.entries).(entry)
	a.now = e.at
	e.do()
	return true
}

// entries is a heap.
type entries []entry

func (e entries) Len() int { return len(e) }

func (e entries) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].order < e[j].order
}

func (e entries) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

func (e *entries) Push(x any) { *e = append(*e, x.(entry)) }

func (e *entries) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = entry{}
	*e = (*e)[:last]
	return x
}

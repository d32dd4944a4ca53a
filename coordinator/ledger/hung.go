package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

const (
	// A worker is hung if each of its call slots has run one call for longer than hungAfter.
	hungAfter = 10 * time.Second
	// besideFor is the time within which a call that a hung worker makes beside its call slots must
	// return. A call that takes longer waits for a call slot.
	besideFor = 10 * time.Second
)

// hung reports whether calls that have run for a long time occupy all call slots of a worker. A hung
// worker makes one more call at a time beside its call slots, so that calls that do not return hold up
// no short calls of other jobs.
func (l *Ledger) hung(w *worker) bool {
	hanging := l.hanging(w)
	if l.now-l.recovery.since > hungAfter && w.earlierCalls > 0 { // these calls began before this leader's term
		return hanging >= w.callSlots
	}
	return hanging > 0 && hanging >= min(w.callSlots, maxCalls)
}

// hanging returns how many calls in the call slots of a worker have run for a long time. A quarantined
// call does not count, because it runs alone.
func (l *Ledger) hanging(w *worker) (calls int) {
	for _, a := range w.assignments {
		if a.call != nil && a.state == stateRunning && !a.beside && !a.quarantined && l.now-a.progressAt > hungAfter {
			calls++
		}
	}
	return calls
}

// makesBeside reports whether a hung worker may make a call beside its call slots.
func (w *worker) makesBeside(c *call) bool {
	return !c.slow && !slices.ContainsFunc(w.assignments, func(a *assignment) bool { return a.beside })
}

// withdrawQueued withdraws the calls of a worker that it has not begun.
func withdrawQueued(w *worker) {
	for _, a := range w.assignments {
		if a.call != nil && a.state == stateConfirmed && !a.beside {
			a.cutAt(0, nil)
		}
	}
}

const (
	// waitsAfter is the time for which other jobs must have run the same calls or partitions in all
	// slots before the status of a job names these jobs.
	waitsAfter = 5 * time.Second
	// maxNamed is the maximum number of jobs that the status of a waiting job names.
	maxNamed = 5
)

// waits describes what the slots run for which a job waits, or the workers if the job's work runs alone. It returns "" if
// a worker runs a call or a partition of the job, or if a slot or a worker will soon be free.
func (l *Ledger) waits(j *job) string {
	call, alone := j.calls.len() > 0, j.runsAlone()
	if j.runs() || !call && j.forest.done() == j.tree.Partitions() {
		return ""
	}
	slots, busy, shortest := 0, 0, waitsAfter+l.now
	var functions, names []string
	for _, w := range l.workers {
		if w.draining || !w.knows(j) {
			continue
		}
		running, whole := 0, alone || w.reserved
		for _, a := range w.assignments {
			if a.state != stateRunning || !whole && (a.beside || (a.call != nil) != call) {
				continue
			}
			running++
			shortest = min(shortest, l.now-a.progressAt)
			functions = append(functions, a.function().String())
			names = append(names, a.job.id())
		}
		switch {
		case whole: // quarantined work waits for all that a worker runs, and all other work for quarantined work
			slots, busy = slots+1, busy+min(1, running)
		case call: // a call that runs beside the call slots and does not return takes one of them away
			slots, busy = slots+max(w.callSlots, running), busy+running
		default:
			slots, busy = slots+max(w.slots, running), busy+running
		}
	}
	if busy == 0 || busy < slots || shortest < waitsAfter {
		return ""
	}
	waits, of := fmt.Sprintf("waits: %d of %d slots", busy, slots), "job"
	if alone {
		waits = fmt.Sprintf("what is left runs alone, since a worker died with it, and waits: %d of %d workers", busy, slots)
	}
	if slices.ContainsFunc(names, func(name string) bool { return name != names[0] }) {
		of = "jobs"
	}
	return fmt.Sprintf("%s run %s of %s %s for %v", waits, listed(functions), of, listed(names), shortest.Truncate(time.Second))
}

// runsAlone reports whether all work of a job that is queued is quarantined.
func (j *job) runsAlone() bool {
	if j.calls.len() > 0 {
		return !j.calls.any(func(c *call) bool { return !c.quarantined() })
	}
	return j.queue.size() > 0 && j.queue.size() == uint64(j.queue.suspects.quarantined)
}

// function returns the function of a job that the assignment runs.
func (a *assignment) function() wire.Function {
	if a.call != nil {
		return a.call.function
	}
	return wire.Map
}

// listed returns the different names of a list, but at most maxNamed of them.
func listed(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	text := ""
	for i, name := range names[:min(len(names), maxNamed)] {
		if i > 0 {
			text += ", "
		}
		text += name
	}
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d others", more)
	}
	return text
}

package ledger

import (
	"fmt"
	"testing"
	"time"
)

// addIdle adds workers to a fleet that have 8 idle slots each, and lets them report once. The queues are empty.
func (f *fleet) addIdle(n int) (idle []*worker) {
	for i := range n {
		id := fmt.Sprintf("x%04d", len(f.workers)+i)
		f.addWorker(id, 8)
		f.report(f.index[id])
		idle = append(idle, f.ledger.worker(id))
	}
	return idle
}

// TestManyIdleWorkersStealTheLongestAssignments lets idle workers ask for work at one time, while others have 16,000
// assignments, more than are listed at once. Each gets eight assignments, and no longer ones are left.
func TestManyIdleWorkersStealTheLongestAssignments(t *testing.T) {
	f, j := busyFleet(t)
	j.queue.fresh = spanSet{}
	i := 0
	for a := range j.assignments.all() {
		a.span.Hi = a.span.Lo + 1000 + uint64(i*7919%16_000) // of different lengths, in no order
		i++
	}
	if n := j.assignments.len(); n <= 2*maxListed {
		t.Fatalf("%d assignments, want more than %d", n, 2*maxListed)
	}
	before := j.assignments.len()
	for _, w := range f.addIdle(300) {
		if w.pendingSteals != w.slots {
			t.Fatalf("worker %s steals %d assignments, want %d", w.id, w.pendingSteals, w.slots)
		}
	}
	shortest, longest, cuts := time.Hour, time.Duration(0), 0
	for a := range j.assignments.all() {
		_, left := f.ledger.remaining(a)
		if a.cut != nil {
			shortest = min(shortest, left)
			cuts++
		} else if a.canBeCut() {
			longest = max(longest, left)
		}
	}
	if cuts != 300*8 || shortest < longest || j.assignments.len() != before {
		t.Errorf("%d assignments are cut, the shortest has %v left, the longest of the others %v", cuts, shortest, longest)
	}
}

// TestIdleWorkersShareTheListOfStealableAssignments lets idle workers ask for work while all assignments are too short
// to be cut. The assignments are not searched for each of them, but again after some time.
func TestIdleWorkersShareTheListOfStealableAssignments(t *testing.T) {
	f, j := busyFleet(t)
	j.queue.fresh = spanSet{}
	for a := range j.assignments.all() {
		a.share.rate, a.progressAt = rate{1e9, 1}, f.now
	}
	if w := f.addIdle(1)[0]; w.pendingSteals > 0 {
		t.Fatal("an assignment that is too short was cut")
	}
	until := j.stealable.until
	if want := f.now + time.Duration(j.assignments.len())*listFor; until != want {
		t.Fatalf("the lists are used until %v, want %v", until, want)
	}
	for a := range j.assignments.all() {
		a.share.rate = rate{1, 1} // now they are long
	}
	f.now = until - 1
	if w := f.addIdle(1)[0]; w.pendingSteals > 0 {
		t.Error("the assignments were searched before the lists had become old")
	}
	f.now = until
	if w := f.addIdle(1)[0]; w.pendingSteals != w.slots {
		t.Errorf("worker %s steals %d assignments when the lists are old, want %d", w.id, w.pendingSteals, w.slots)
	}
}

package ledger

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// TestCallList compares a list of calls with a slice, after each of many random changes.
func TestCallList(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	tree, err := engine.NewTree(5000)
	if err != nil {
		t.Fatal(err)
	}
	var l callList
	var want []*call
	anyNode := func() engine.Node {
		return tree.Lift(engine.Leaf(random.Uint64N(tree.Partitions())).Parent())
	}
	add := func(function wire.Function, node engine.Node) {
		if l.find(function, node) == nil {
			c := &call{function: function, node: node}
			l.add(c)
			want = append(want, c)
		}
	}
	remove := func(c *call) {
		l.remove(c)
		want = slices.DeleteFunc(want, func(o *call) bool { return o == c })
	}
	for step := range 6000 {
		switch n := random.IntN(10); {
		case n < 5:
			node := anyNode()
			for range random.IntN(3) {
				node = tree.Lift(node.Parent())
			}
			add(wire.Merge, node)
		case n == 5:
			add([]wire.Function{wire.Plan, wire.Finish, wire.Estimate}[random.IntN(3)], engine.Node{})
		case n < 8 && len(want) > 0:
			remove(want[random.IntN(len(want))])
		case n == 8 && random.IntN(20) == 0:
			lo := random.Uint64N(tree.Partitions())
			span := engine.Span{Lo: lo, Hi: lo + random.Uint64N(300)}
			in := func(c *call) bool { return c.function == wire.Merge && span.Contains(tree.Span(c.node)) }
			got := l.within(tree, span)
			for _, c := range want {
				if in(c) != slices.Contains(got, c) {
					t.Fatalf("step %d: the merges within %v are %v: %v is wrong", step, span, got, c)
				}
			}
			for _, c := range got {
				remove(c)
			}
		}
		if got := slices.Collect(l.all()); !slices.Equal(got, want) || l.len() != len(want) {
			t.Fatalf("step %d: got %d calls %v, want %v", step, l.len(), got, want)
		}
		for _, c := range want {
			if l.find(c.function, c.node) != c {
				t.Fatalf("step %d: %v was not found", step, c)
			}
		}
	}
	for c := range l.all() { // the list shrinks while it is walked
		l.remove(c)
	}
	if l.len() != 0 || len(l.list) != 0 || l.merges.len != 0 {
		t.Errorf("%d calls are left, and %d merges", l.len(), l.merges.len)
	}
}

// TestQueuedCalls checks that loops over parts of a long list get all queued calls in turn.
func TestQueuedCalls(t *testing.T) {
	var l callList
	const all = 3*maxQueued + 5
	for i := range all {
		l.add(&call{function: wire.Merge, node: engine.Node{Level: 1, Index: uint64(i)}})
	}
	assigned := 0
	for c := range l.all() {
		if c.node.Index%5 == 0 {
			c.assignment = new(assignment)
			assigned++
		}
	}
	seen := make(map[uint64]int)
	for range 3 {
		n := 0
		for c := range l.queued() {
			seen[c.node.Index]++
			n++
		}
		if n != maxQueued {
			t.Errorf("a loop got %d calls", n)
		}
	}
	if len(seen) != all-assigned {
		t.Errorf("three loops got %d different calls of %d", len(seen), all-assigned)
	}
	for c := range l.all() { // a list with few calls is walked from its beginning
		if c.node.Index >= 10 {
			l.remove(c)
		}
	}
	var few []uint64
	for c := range l.queued() {
		few = append(few, c.node.Index)
	}
	if !slices.Equal(few, []uint64{1, 2, 3, 4, 6, 7, 8, 9}) {
		t.Errorf("got the calls %v", few)
	}
}

package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// TestPartitionsStayWhereTheyWereComputed runs jobs with rounds in fleets without faults. From the third round on, nearly
// all partitions are computed by the worker that computed them in the round before.
func TestPartitionsStayWhereTheyWereComputed(t *testing.T) {
	for _, c := range []struct {
		workers, slots int
		partitions     uint64
		rate           float64 // partitions per second and slot
	}{
		{2, 1, 1000, 2000}, {4, 2, 1000, 1000}, {3, 4, 100, 20}, {4, 2, 1000, 1e6}, {8, 8, 64, 1}, {2, 4, 5, 10}, {2, 4, 8, 10}, {3, 4, 6, 10}, {20, 8, 20_000, 100},
	} {
		t.Run(fmt.Sprintf("%d workers with %d slots, %d partitions", c.workers, c.slots, c.partitions), func(t *testing.T) {
			f := newFleet(t, c.workers, c.slots, c.rate)
			before := make(computedBy, c.partitions)
			for round := uint64(1); round <= 8; round++ {
				f.addRound(round, c.partitions)
				now := make(computedBy, c.partitions)
				f.computed = now.add
				if !f.run(time.Hour) {
					t.Fatalf("round %d does not end:\n%s", round, formatState(f.ledger))
				}
				same := now.same(before)
				t.Logf("round %d: %.1f %% where they were, at %v, %v", round, 100*same, f.now, f.actions)
				if round > 2 && same < 0.9 {
					t.Errorf("round %d: %.1f %% of the partitions are computed where they were before, want at least 90 %%", round, 100*same)
				}
				before = now
			}
		})
	}
}

// TestPartitionsOfOtherHomes lets a worker die, or become slow, between two rounds. The others compute what it would have
// computed, without waiting for it, and keep these partitions in later rounds.
func TestPartitionsOfOtherHomes(t *testing.T) {
	const partitions, rate, slots, workers, changed = 2000, 500, 2, 4, 4
	for _, c := range []struct {
		name    string
		change  func(f *fleet)
		speed   float64 // sum of the speeds of all workers after the change
		settled uint64  // number of rounds after the change until partitions stay where they are
	}{
		{"dies", func(f *fleet) { f.remove(f.workers[3]) }, 3, 1},
		{"is silent", func(f *fleet) { f.workers = f.workers[:3] }, 3, 1},
		{"is slow", func(f *fleet) { f.workers[3].slow = 10 }, 3.1, 2},
		{"is slow and first", func(f *fleet) { f.workers[0].slow = 10 }, 3.1, 2},
		{"joins", func(f *fleet) { f.addWorker("w0009", slots) }, 5, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet(t, workers, slots, rate)
			before := make(computedBy, partitions)
			for round := uint64(1); round <= changed+5; round++ {
				speed := float64(workers)
				if round == changed {
					c.change(f)
				}
				if round >= changed {
					speed = c.speed
				}
				began := f.now
				f.addRound(round, partitions)
				now := make(computedBy, partitions)
				f.computed = now.add
				if !f.run(time.Hour) {
					t.Fatalf("round %d does not end:\n%s", round, formatState(f.ledger))
				}
				same, took, ideal := now.same(before), f.now-began, duration(partitions/(rate*slots*speed))
				t.Logf("round %d: %.1f %% where they were, took %v, ideal %v", round, 100*same, took, ideal)
				if round > changed+c.settled && same < 0.9 {
					t.Errorf("round %d: %.1f %% of the partitions are computed where they were before, want at least 90 %%", round, 100*same)
				}
				if round > 2 && took > ideal+300*time.Millisecond {
					t.Errorf("round %d took %v, without waiting it takes %v", round, took, ideal)
				}
				before = now
			}
		})
	}
}

// computedBy has the worker that computed each partition of a round.
type computedBy []string

func (c computedBy) add(worker string, span engine.Span) {
	for p := span.Lo; p < span.Hi; p++ {
		c[p] = worker
	}
}

// same returns the share of the partitions that the same worker computed in another round.
func (c computedBy) same(other computedBy) float64 {
	n := 0
	for p := range c {
		if c[p] == other[p] {
			n++
		}
	}
	return float64(n) / float64(len(c))
}

// TestStateSpreadsAlongATree opens a round on many workers. No worker serves its state to more than two others, and none
// serves it that is gone or cannot.
func TestStateSpreadsAlongATree(t *testing.T) {
	f := newFleet(t, 40, 1, 1)
	f.round()
	for _, w := range f.ledger.workers {
		w.hello.Holds = w.id != "w0007"
	}
	f.remove(f.workers[3]) // it has fetched the state of this round
	j := &job{opening: wire.Opening{Job: "job/2", StateBlob: "blob"}, spread: stateSpread{5, 6, []string{"w0009", "w0003"}}}
	served := map[string]int{}
	stored := 0
	for _, w := range f.ledger.workers {
		o := f.ledger.openingFor(w, j)
		switch {
		case w.id == "w0007" && o.StateSize != 0:
			t.Errorf("a worker that cannot fetch is told to fetch: %+v", o)
		case w.id == "w0007":
		case o.StateSize != 5 || o.StateSum != 6:
			t.Errorf("worker %s gets the opening %+v", w.id, o)
		case o.StateHolder == "" && w.id != "w0009":
			stored++
		case o.StateHolder != "":
			served[o.StateHolder]++
		}
	}
	for holder, n := range served {
		if n > 2 || holder == "w0003" || holder == "w0007" {
			t.Errorf("worker %s serves %d workers", holder, n)
		}
	}
	if stored != 2 || len(served) < 17 {
		t.Errorf("%d workers read from storage, want the two that the dead worker would serve; %d workers serve others", stored, len(served))
	}
	if o := f.ledger.openingFor(f.ledger.workers[0], &job{opening: wire.Opening{StateBlob: "blob"}}); o.StateHolder != "" || o.StateSize != 0 {
		t.Errorf("a leader that does not know who has the state says %+v", o)
	}
}

// TestFirstPiecesAreCoveredByFewNodes cuts a queue into assignments. Each has about the size that was asked for. They are nodes
// of the tree if the queue begins with the first partition, and otherwise two nodes at most, apart from the first assignments.
func TestFirstPiecesAreCoveredByFewNodes(t *testing.T) {
	tree, err := engine.NewTree(100_003)
	if err != nil {
		t.Fatal(err)
	}
	j := &job{tree: tree}
	for _, size := range []uint64{1, 2, 3, 5, 12, 17, 100, 1000} {
		for _, begin := range []uint64{0, 1, 37, 999} {
			gap, nodes, pieces := engine.Span{Lo: begin, Hi: tree.Partitions()}, 0, 0
			for gap.Len() > 2*size {
				piece := j.firstPiece(gap, size, false)
				if piece.Lo != gap.Lo || 3*piece.Len() < 2*size || 3*piece.Len() > 4*size {
					t.Fatalf("size %d: the first assignment of %v is %v", size, gap, piece)
				}
				nodes += len(tree.Cover(piece))
				pieces++
				gap.Lo = piece.Hi
			}
			most := pieces
			if begin > 0 {
				most = 2*pieces + 20
			}
			if nodes > most {
				t.Errorf("size %d from partition %d on: %d nodes cover %d assignments", size, begin, nodes, pieces)
			}
			if rest := j.firstPiece(engine.Span{Lo: begin, Hi: begin + size + size/3}, size, false); rest.Len() != size+size/3 {
				t.Errorf("size %d: %d of the last %d partitions are assigned", size, rest.Len(), size+size/3)
			}
		}
	}
}

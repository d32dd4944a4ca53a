package sim

import (
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// TestWorkBeyondAStop counts the partitions that run above a stop, in clusters without faults. Until the prefix that
// suffices is finished, these are at most a quarter of its partitions, and a few for each slot. Then the prefix is
// judged, and all slots are free within a second of simulated time.
func TestWorkBeyondAStop(t *testing.T) {
	for _, suffices := range []uint64{100, 1000} {
		for _, workers := range []uint64{1, 2, 4, 16} {
			for seed := range uint64(5) {
				n := engine.NextRung(suffices - 1)
				below, ahead, late, free := workBeyond(t, workers, suffices, seed)
				t.Logf("%d workers stop at %d: %d partitions above it ran before the prefix was finished, and %d in the %v after that", workers, n, ahead, late, free)
				if below != n {
					t.Errorf("%d workers, seed %d: %d partitions ran below the stop at %d", workers, seed, below, n)
				}
				if ahead > n/4+4*workers {
					t.Errorf("%d workers, seed %d: %d partitions ran above the stop at %d before the prefix was finished, want at most a quarter and 4 for each slot", workers, seed, ahead, n)
				}
				if free > time.Second {
					t.Errorf("%d workers, seed %d: the last slot was free %v after the prefix was finished", workers, seed, free)
				}
			}
		}
	}
}

// workBeyond simulates a job of partitions of 20 ms on workers of one slot. It returns how many partitions have run
// below the stop, and above it before and after the prefix was finished, and the time from then until no slot runs.
func workBeyond(t *testing.T, workers, suffices, seed uint64) (below, ahead, late uint64, free time.Duration) {
	t.Helper()
	s := newSim(seed, nil)
	b := harmless(100_000, 20*time.Millisecond)
	b.prefixes = prefixes{judged: true, suffices: suffices}
	sc := &s.scenario
	sc.calm, sc.evicts, sc.breaks, sc.oldShare, s.rates = true, false, false, 0, faultRates{}
	sc.processes, sc.maxProcesses, sc.maxSlots, sc.skew = int(workers), int(workers), 1, 0
	sc.jobs = []jobBehaviour{b}
	sc.faultsUntil, sc.faultEvery = 0, time.Second // there are no faults
	n := engine.NextRung(suffices - 1)
	var finished, last time.Duration
	s.after(0, func() {
		s.list[0].onRan = func(span engine.Span) {
			above := max(span.Hi, n) - max(span.Lo, n)
			if below += span.Len() - above; span.Lo < n {
				ahead, late, finished = ahead+late, 0, s.now
			}
			late, last = late+above, s.now
		}
	})
	if s.run(); s.failure != nil {
		t.Fatalf("%d workers, seed %d: %v", workers, seed, s.failure)
	}
	return below, ahead, late, last - finished
}

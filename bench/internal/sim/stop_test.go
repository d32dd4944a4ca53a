package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// TestStopIsTheSameInEachCluster stops a job in clusters of 1 to 16 workers. The first worker that runs the lowest
// partition needs 15 s more for it, and the leader is killed when the rung before the stop is judged. The job must
// end at the same prefix, and with the same bytes, as in one process.
func TestStopIsTheSameInEachCluster(t *testing.T) {
	const partitions, suffices, before = 400, 25, 24
	for _, workers := range []int{1, 2, 4, 16} {
		for seed := range uint64(5) {
			s := newSim(seed, nil)
			b := harmless(partitions, 20*time.Millisecond)
			b.hangs, b.prefixes = 0, prefixes{judged: true, suffices: suffices}
			sc := &s.scenario
			sc.calm, sc.evicts, sc.breaks, sc.oldShare, s.rates = true, false, false, 0, faultRates{}
			sc.processes, sc.maxProcesses, sc.skew = workers, workers+8, 0
			sc.jobs = []jobBehaviour{b}
			sc.faultsUntil, sc.faultEvery = time.Second, time.Second // there are no other faults
			killed, highest := false, uint64(0)
			s.after(0, func() {
				s.list[0].onJudge = func(n uint64) {
					if n == before && !killed {
						killed, highest = true, s.checks.highest(s.list[0].spec.ID)
						s.after(0, func() { s.kill(s.anyLeader()) })
					}
				}
			})
			s.run()
			if s.failure != nil {
				t.Fatalf("%d workers, seed %d: %v", workers, seed, s.failure)
			}
			j := s.list[0]
			m := s.checks.manifest(j.spec.ID)
			alone, err := jobs.Local{Slots: 1, Attempts: 1}.Run(t.Context(), s.versions[0], j.spec.Params)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(alone.Result)
			got := fmt.Sprint(m.State, m.Stopped, m.SHA256)
			if want := fmt.Sprint(store.Completed, alone.Stopped, hex.EncodeToString(sum[:])); got != want {
				t.Errorf("%d workers, seed %d: got %s, one process gives %s", workers, seed, got, want)
			}
			if len(m.Epochs) < 2 || m.Stopped == nil || m.Stopped.At != 28 {
				t.Errorf("%d workers, seed %d: epochs %v, stopped %+v, want a change of leader and a stop at 28", workers, seed, m.Epochs, m.Stopped)
			}
			if workers == 16 && highest < 100 {
				t.Errorf("%d workers, seed %d: the highest finished partition is below %d, want some far above the stop", workers, seed, highest)
			}
		}
	}
}

// highest returns the end of the highest span of a job that a worker has finished.
func (c *checks) highest(id string) (hi uint64) {
	for _, kept := range c.kept {
		if k := kept[id]; k != nil {
			for _, i := range k.items {
				hi = max(hi, i.span.Hi)
			}
		}
	}
	return hi
}

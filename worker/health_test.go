package worker

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellwether-compute/bellwether/election"
)

// TestStalledLeaderIsUnhealthy checks that a leader is healthy while its loop runs, and that a
// process is healthy after its term has ended.
func TestStalledLeaderIsUnhealthy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth(Config{}, nil)
		if reasons := h.stalled(t.Context()); len(reasons) != 0 {
			t.Errorf("idle process: got %v, want it healthy", reasons)
		}
		end := h.leads(&election.Term{Record: election.Record{Epoch: 1}, Cause: election.First})
		turning := time.NewTicker(50 * time.Millisecond)
		defer turning.Stop()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 10 {
				<-turning.C
				h.leaderTurned()
			}
		}()
		if reasons := h.stalled(t.Context()); len(reasons) != 0 {
			t.Errorf("leader whose loop turns: got %v, want it healthy", reasons)
		}
		<-done
		began := time.Now()
		if reasons := h.stalled(t.Context()); len(reasons) != 1 || time.Since(began) != turnTimeout {
			t.Errorf("leader whose loop hangs: got %v after %v, want one reason after %v", reasons, time.Since(began), turnTimeout)
		}
		time.AfterFunc(turnTimeout/2, end)
		if reasons := h.stalled(t.Context()); len(reasons) != 0 {
			t.Errorf("leader whose term ends during the check: got %v, want it healthy", reasons)
		}
	})
}

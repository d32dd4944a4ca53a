package cli

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/worker/executor"
)

// TestLeaderThatStandsStillIsUnhealthy: a leader is well as long as its loop turns,
// and where the term has ended meanwhile there is nothing to turn.
func TestLeaderThatStandsStillIsUnhealthy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVitals(executor.Status{}, nil, build{})
		if stuck := v.stuck(t.Context()); len(stuck) != 0 {
			t.Errorf("a process that does nothing is stuck: %v", stuck)
		}
		end := v.lead(&election.Term{Record: election.Record{Epoch: 1}, Cause: election.First})
		turning := time.NewTicker(50 * time.Millisecond)
		defer turning.Stop()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 10 {
				<-turning.C
				v.leaderTurned()
			}
		}()
		if stuck := v.stuck(t.Context()); len(stuck) != 0 {
			t.Errorf("a leader that turns is stuck: %v", stuck)
		}
		<-done
		began := time.Now()
		if stuck := v.stuck(t.Context()); len(stuck) != 1 || time.Since(began) != turnsWithin {
			t.Errorf("a leader that stands still: %v, after %v", stuck, time.Since(began))
		}
		time.AfterFunc(turnsWithin/2, end)
		if stuck := v.stuck(t.Context()); len(stuck) != 0 {
			t.Errorf("a leader whose term has ended is stuck: %v", stuck)
		}
	})
}

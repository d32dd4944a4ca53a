package engine_test

import (
	"context"
	"sync"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

func TestIdle(t *testing.T) {
	idle := engine.IdleOf(engine.WithIdle(t.Context(), new(engine.Idle)))
	for _, step := range []struct{ add, most, want int }{{0, 3, 0}, {2, 0, 0}, {0, 1, 1}, {0, 5, 1}, {0, 5, 0}, {-1, 5, 0}, {1, 5, 0}, {1, 5, 1}} {
		idle.Add(step.add)
		if got := idle.Borrow(step.most); got != step.want {
			t.Errorf("after %+d slots, %d of at most %d were borrowed, want %d", step.add, got, step.most, step.want)
		}
	}
}

func TestNoIdle(t *testing.T) {
	none := engine.IdleOf(context.Background())
	none.Add(1)
	if n := none.Borrow(1); n != 0 {
		t.Errorf("%d slots were borrowed of a context without idle slots", n)
	}
}

// TestIdleLendsNoSlotTwice checks that borrowers never have more slots than there are.
func TestIdleLendsNoSlotTwice(t *testing.T) {
	const slots = 3
	var idle engine.Idle
	idle.Add(slots)
	held := make(chan struct{}, slots)
	var borrowers sync.WaitGroup
	for range 8 {
		borrowers.Go(func() {
			for range 1000 {
				n := idle.Borrow(2)
				for range n {
					select {
					case held <- struct{}{}:
					default:
						t.Error("more slots were borrowed than there are")
						return
					}
				}
				for range n {
					<-held
				}
				idle.Add(n)
			}
		})
	}
	borrowers.Wait()
	if n := idle.Borrow(slots + 1); n != slots {
		t.Errorf("at the end %d slots are idle, want %d", n, slots)
	}
}

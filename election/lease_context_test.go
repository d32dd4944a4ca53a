package election

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellwether-compute/bellwether/election/machine"
)

func TestLeaseContextIsExtended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		lease := newLeaseContext(t.Context(), start.Add(10*time.Second))
		child, cancel := context.WithTimeout(lease, time.Hour)
		defer cancel()
		time.Sleep(9 * time.Second)
		lease.extend(start.Add(19 * time.Second))
		if deadline, ok := lease.Deadline(); !ok || !deadline.Equal(start.Add(19*time.Second)) {
			t.Errorf("the deadline is %v, %v", deadline, ok)
		}
		<-child.Done()
		if took := time.Since(start); took != 19*time.Second {
			t.Errorf("the context ended after %v, want 19s", took)
		}
		if lease.Err() == nil || !errors.Is(context.Cause(lease), machine.ErrExpired) || !errors.Is(context.Cause(child), ErrDeposed) {
			t.Errorf("it ended with %v and %v", lease.Err(), context.Cause(lease))
		}
		lease.extend(time.Now().Add(time.Hour))
		if lease.Err() == nil {
			t.Error("a context that had ended was extended")
		}
	})
}

// TestLeaseContextWithoutTimer stops the timer, as in a process that was suspended
// and has just resumed.
func TestLeaseContextWithoutTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lease := newLeaseContext(t.Context(), time.Now().Add(10*time.Second))
		lease.timer.Stop()
		stalled := errors.New("stalled")
		lease.setCause(stalled)
		time.Sleep(time.Minute)
		select {
		case <-lease.Done():
			t.Fatal("the timer fired")
		default:
		}
		// An answer to a renewal during the suspension comes too late.
		lease.extend(time.Now().Add(time.Minute))
		if lease.Err() == nil {
			t.Fatal("the context lives after its deadline")
		}
		<-lease.Done()
		if !errors.Is(context.Cause(lease), stalled) {
			t.Errorf("the cause is %v", context.Cause(lease))
		}
	})
}

func TestLeaseContextOutlivesItsParent(t *testing.T) {
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, 1))
	lease := newLeaseContext(ctx, time.Now().Add(time.Hour))
	cancel()
	if lease.Err() != nil || lease.Value(key{}) != 1 {
		t.Errorf("got error %v, value %v", lease.Err(), lease.Value(key{}))
	}
	lost := errors.New("lost")
	lease.end(lost)
	lease.end(machine.ErrExpired)
	if !errors.Is(context.Cause(lease), lost) {
		t.Errorf("the cause is %v, want the first", context.Cause(lease))
	}
}

func TestTermControl(t *testing.T) {
	var zero Term
	zero.Beat()
	zero.Deposed(7)
	select {
	case <-zero.Stopping():
		t.Error("the zero Term stops")
	default:
	}

	var beats int
	var deposed []uint64
	term := NewTerm(Term{Record: Record{Epoch: 7}}, TermControl{
		Beat: func() { beats++ }, Deposed: func(epoch uint64) { deposed = append(deposed, epoch) },
	})
	term.Beat()
	for epoch := uint64(6); epoch <= 8; epoch++ {
		term.Deposed(epoch)
	}
	if beats != 1 || len(deposed) != 1 || deposed[0] != 8 {
		t.Errorf("%d beats, deposed by %v", beats, deposed)
	}
}

package election

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestTrustMovesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		trust := newTrust(t.Context(), begun.Add(10*time.Second))
		child, cancel := context.WithTimeout(trust, time.Hour)
		defer cancel()
		time.Sleep(9 * time.Second)
		trust.extend(begun.Add(19 * time.Second))
		if deadline, ok := trust.Deadline(); !ok || !deadline.Equal(begun.Add(19*time.Second)) {
			t.Errorf("the deadline is %v, %v", deadline, ok)
		}
		<-child.Done()
		if took := time.Since(begun); took != 19*time.Second {
			t.Errorf("trust ended after %v, want 19s", took)
		}
		if trust.Err() == nil || !errors.Is(context.Cause(trust), errExpired) || !errors.Is(context.Cause(child), ErrDeposed) {
			t.Errorf("it ended with %v and %v", trust.Err(), context.Cause(trust))
		}
		trust.extend(time.Now().Add(time.Hour))
		if trust.Err() == nil {
			t.Error("what has ended was extended")
		}
	})
}

// TestTrustOfASleeper has a process in which no timer fires, as when it was
// stopped and has just gone on.
func TestTrustOfASleeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trust := newTrust(t.Context(), time.Now().Add(10*time.Second))
		trust.timer.Stop()
		trust.expect(errStalled)
		time.Sleep(time.Minute)
		select {
		case <-trust.Done():
			t.Fatal("the timer fired")
		default:
		}
		// A renewal that was answered during the sleep comes too late.
		trust.extend(time.Now().Add(time.Minute))
		if trust.Err() == nil {
			t.Fatal("the sleeper leads")
		}
		<-trust.Done()
		if !errors.Is(context.Cause(trust), errStalled) {
			t.Errorf("the cause is %v", context.Cause(trust))
		}
	})
}

func TestTrustOutlivesItsParent(t *testing.T) {
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, 1))
	trust := newTrust(ctx, time.Now().Add(time.Hour))
	cancel()
	if trust.Err() != nil || trust.Value(key{}) != 1 {
		t.Errorf("got error %v, value %v", trust.Err(), trust.Value(key{}))
	}
	trust.end(errLost)
	trust.end(errExpired)
	if !errors.Is(context.Cause(trust), errLost) {
		t.Errorf("the cause is %v, want the first", context.Cause(trust))
	}
}

func TestZeroTerm(t *testing.T) {
	var term Term
	term.Beat()
	term.Deposed(7)
	select {
	case <-term.Stopping():
		t.Error("it stops")
	default:
	}
}

package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// patience is the maximum duration of each wait in the suite.
const patience = 20 * time.Second

// TestQueue runs the suite for Queue. The function open returns an empty queue that hides messages
// for hideFor, and closes it when the test ends. The suite calls open from several goroutines: the
// tests run in parallel, because most of them wait for messages to become visible. A shorter
// hideFor makes the suite faster, but if hideFor is too short, the suite fails on a slow machine.
// For a driver that uses a network, two seconds are enough.
func TestQueue(t *testing.T, open func(t *testing.T) store.Queue, hideFor time.Duration) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, q store.Queue, hideFor time.Duration)
	}{
		{"bodies", bodies},
		{"receive waits", receiveWaits},
		{"receive ends with its context", receiveEnds},
		{"delivered again", deliveredAgain},
		{"extended stays hidden", extendedStaysHidden},
		{"deleted is gone", deletedIsGone},
		{"receivers share", receiversShare},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open(t), hideFor)
		})
	}
}

func bodies(t *testing.T, q store.Queue, _ time.Duration) {
	for _, body := range [][]byte{{0}, []byte("text"), randomBytes(1, 100), []byte("+ACK"), []byte("<xml>&"), randomBytes(2, store.MaxMessage)} {
		must(t, q.Send(t.Context(), body))
		m := receive(t, q)
		if !bytes.Equal(m.Body(), body) {
			t.Errorf("sent %d bytes, received %d others", len(body), len(m.Body()))
		}
		if m.Deliveries() != 1 {
			t.Errorf("first delivery counts %d", m.Deliveries())
		}
		must(t, m.Delete(t.Context()))
	}
	if err := q.Send(t.Context(), make([]byte, store.MaxMessage+1)); err == nil {
		t.Errorf("Send takes more than MaxMessage bytes")
	}
}

func receiveWaits(t *testing.T, q store.Queue, hideFor time.Duration) {
	atOnce(t, 2, func(ctx context.Context, i int) error {
		if i == 0 {
			m, err := q.Receive(ctx)
			if err != nil {
				return err
			}
			return m.Delete(ctx)
		}
		if err := wantNothing(ctx, q, hideFor/10); err != nil { // the wait gives the receiver time to begin to wait
			return err
		}
		return q.Send(ctx, []byte("late"))
	})
}

func receiveEnds(t *testing.T, q store.Queue, hideFor time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), hideFor/10)
	defer cancel()
	if _, err := q.Receive(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Receive past its deadline: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err := q.Receive(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Receive with a done context: %v", err)
	}
	if err := q.Send(ctx, []byte("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("Send with a done context: %v", err)
	}
	must(t, q.Send(t.Context(), []byte("x")))
	must(t, receive(t, q).Delete(t.Context()))
}

func deliveredAgain(t *testing.T, q store.Queue, hideFor time.Duration) {
	must(t, q.Send(t.Context(), []byte("again")))
	var last time.Time
	for n := 1; n <= 3; n++ {
		m := receive(t, q)
		if string(m.Body()) != "again" || m.Deliveries() != n {
			t.Errorf("delivery %d: %q, counts %d", n, m.Body(), m.Deliveries())
		}
		if n > 1 && time.Since(last) < hideFor/2 {
			t.Errorf("delivery %d came after %v, it should be hidden for %v", n, time.Since(last), hideFor)
		}
		last = time.Now()
		if n == 1 { // a hidden message must not delay other messages
			must(t, q.Send(t.Context(), []byte("other")))
			other := receive(t, q)
			if string(other.Body()) != "other" {
				t.Errorf("received %q, want the other message", other.Body())
			}
			must(t, other.Delete(t.Context()))
		}
		if n == 3 {
			must(t, m.Delete(t.Context()))
		}
	}
}

func extendedStaysHidden(t *testing.T, q store.Queue, hideFor time.Duration) {
	must(t, q.Send(t.Context(), []byte("long work")))
	m := receive(t, q)
	for range 12 {
		if err := wantNothing(t.Context(), q, hideFor/4); err != nil {
			t.Fatal(err)
		}
		must(t, m.Extend(t.Context()))
	}
	again := receive(t, q) // the message is delivered again, because it is not extended
	if again.Deliveries() != 2 {
		t.Errorf("delivery after the last Extend counts %d, want 2", again.Deliveries())
	}
	must(t, again.Delete(t.Context()))
}

func deletedIsGone(t *testing.T, q store.Queue, hideFor time.Duration) {
	for i := range 3 {
		must(t, q.Send(t.Context(), []byte{byte(i)}))
	}
	for range 3 {
		m := receive(t, q)
		must(t, m.Delete(t.Context()))
		must(t, m.Delete(t.Context()))
	}
	if err := wantNothing(t.Context(), q, 2*hideFor); err != nil {
		t.Error(err)
	}
}

// receiversShare checks that each message is received by only one of several goroutines.
func receiversShare(t *testing.T, q store.Queue, _ time.Duration) {
	const receivers, messages = 4, 20
	for i := range messages {
		must(t, q.Send(t.Context(), []byte{byte(i)}))
	}
	ctx, all := context.WithCancel(t.Context())
	defer all()
	var mu sync.Mutex
	seen := map[byte]bool{}
	atOnce(t, receivers, func(bounded context.Context, _ int) error {
		defer context.AfterFunc(bounded, all)()
		for {
			m, err := q.Receive(ctx)
			if errors.Is(err, context.Canceled) {
				return nil
			}
			if err != nil {
				return err
			}
			if m.Deliveries() == 1 {
				mu.Lock()
				twice := seen[m.Body()[0]]
				seen[m.Body()[0]] = true
				done := len(seen) == messages
				mu.Unlock()
				if twice {
					return fmt.Errorf("message %d was delivered to two receivers", m.Body()[0])
				}
				if done {
					all()
				}
			}
			if err := m.Delete(bounded); err != nil {
				return err
			}
		}
	})
	if len(seen) != messages {
		t.Errorf("received %d messages of %d", len(seen), messages)
	}
}

func receive(t *testing.T, q store.Queue) store.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m, err := q.Receive(ctx)
	if err != nil {
		t.Fatalf("Receive: %v", err)
	}
	return m
}

// wantNothing returns an error if a message arrives before the time within is over.
func wantNothing(ctx context.Context, q store.Queue, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	m, err := q.Receive(ctx)
	if err == nil {
		return fmt.Errorf("received %q, delivery %d, want nothing", m.Body(), m.Deliveries())
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

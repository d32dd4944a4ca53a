package memory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/internal/storetest"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBlobs(t *testing.T) {
	storetest.TestBlobs(t, func(*testing.T) store.Blobs { return memory.NewBlobs() })
}

func TestQueue(t *testing.T) {
	const hideFor = time.Second
	storetest.TestQueue(t, func(*testing.T) store.Queue { return memory.NewQueue(hideFor) }, hideFor)
}

func TestFaultBeforeKeepsFromWriting(t *testing.T) {
	blobs := memory.NewBlobs()
	lost := errors.New("out of order")
	blobs.Inject(func(c memory.Call) error {
		if c == (memory.Call{Operation: memory.Put, Key: "key"}) {
			return lost
		}
		return nil
	})
	if _, err := blobs.Put(t.Context(), "key", nil, store.Always); !errors.Is(err, lost) {
		t.Fatalf("Put: %v", err)
	}
	if _, _, err := blobs.Get(t.Context(), "key"); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("Get: %v", err)
	}
}

func TestFaultAfterLosesTheAnswer(t *testing.T) {
	blobs := memory.NewBlobs()
	blobs.Inject(func(c memory.Call) error {
		if c.Operation == memory.Put && c.Done {
			return store.ErrUnavailable
		}
		return nil
	})
	if _, err := blobs.Put(t.Context(), "key", []byte("x"), store.IfAbsent); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("Put: %v", err)
	}
	blobs.Inject(nil)
	if _, err := blobs.Put(t.Context(), "key", []byte("x"), store.IfAbsent); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("Put again: %v", err)
	}
}

func TestFaultsOfAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := memory.NewQueue(time.Minute)
		failing := memory.Call{Operation: memory.Send}
		queue.Inject(func(c memory.Call) error {
			if c == failing {
				return store.ErrUnavailable
			}
			return nil
		})
		if err := queue.Send(t.Context(), []byte("x")); !errors.Is(err, store.ErrUnavailable) || queue.Len() != 0 {
			t.Fatalf("Send: %v, then %d messages", err, queue.Len())
		}
		failing = memory.Call{Operation: memory.Receive, Done: true}
		if err := queue.Send(t.Context(), []byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := queue.Receive(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("Receive: %v", err)
		}
		failing = memory.Call{Operation: memory.Discard}
		start := time.Now()
		m, err := queue.Receive(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if time.Since(start) != time.Minute || m.Deliveries() != 2 {
			t.Errorf("delivery %d came after %v", m.Deliveries(), time.Since(start))
		}
		if err := m.Delete(t.Context()); !errors.Is(err, store.ErrUnavailable) || queue.Len() != 1 {
			t.Errorf("Delete: %v, then %d messages", err, queue.Len())
		}
	})
}

//go:build !race

// The race detector crashes in simulations with thousands of timers (golang.org/issue/78156).

package source

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// storage is an account that throttles in simulated time. A connection transfers speed bytes a second.
// All connections together transfer at most capacity bytes a second, averaged over the window if it is not 0.
type storage struct {
	speed, capacity float64
	window          time.Duration
	after           time.Duration // header Retry-After

	mu        sync.Mutex
	open      int       // number of responses that have not ended
	credit    float64   // bytes that may be sent before a request is throttled, with a window
	filled    time.Time // time until which credit was added
	sent      map[int]float64
	throttled int
}

// refuses reports whether a request is throttled now.
func (s *storage) refuses() bool {
	if s.window == 0 {
		return float64(s.open+1)*s.speed > s.capacity
	}
	s.fill()
	return s.credit <= 0
}

func (s *storage) fill() {
	now, most := time.Now(), s.capacity*s.window.Seconds()
	s.credit = max(-most, min(most, s.credit+s.capacity*now.Sub(s.filled).Seconds()))
	s.filled = now
}

// read sends a request for size bytes for one of the clients.
func (s *storage) read(client int, size float64) (io.ReadCloser, error) {
	time.Sleep(2 * time.Millisecond) // the network
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuses() {
		s.throttled++
		return nil, &Throttled{503, s.after}
	}
	s.open++
	return &transfer{s, client, size}, nil
}

// transfer is a response of storage.
type transfer struct {
	*storage
	client int
	left   float64
}

func (r *transfer) Read(p []byte) (int, error) {
	n := min(float64(len(p)), r.left)
	if n == 0 {
		return 0, io.EOF
	}
	time.Sleep(time.Duration(n / r.speed * float64(time.Second)))
	r.left -= n
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fill()
	r.credit -= n
	r.sent[r.client] += n
	return int(n), nil
}

func (r *transfer) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open--
	return nil
}

// slots reads segments until ctx ends, like the slots of a worker.
func slots(ctx context.Context, t *testing.T, s *storage, client int) (wait func()) {
	const slots, segment = 24, 32 << 20
	l, readers := newLimit("account", func(Throttling) {}), sync.WaitGroup{}
	piece := make([]byte, 4<<20) // storage writes nothing to it
	one := func() error {
		var response io.ReadCloser
		err := l.send(ctx, func() error {
			of, err := s.read(client, segment)
			if err == nil {
				response = l.add(of)
			}
			return err
		})
		if err != nil {
			return err
		}
		defer response.Close()
		for err == nil && ctx.Err() == nil {
			_, err = response.Read(piece)
		}
		return nil
	}
	for range slots {
		readers.Go(func() {
			for ctx.Err() == nil {
				if err := one(); err != nil && ctx.Err() == nil {
					t.Errorf("a read has failed: %v", err)
					return
				}
			}
		})
	}
	return readers.Wait
}

// TestAccountIsUsed checks that 20 workers, which know nothing of each other, use at least 90 % of an account that throttles
// them, and that no read fails. The time is simulated. The capacity is that of less than one connection of each worker, or of several.
func TestAccountIsUsed(t *testing.T) {
	const clients, speed, seconds = 20, 100e6, 60
	for _, connections := range []float64{0.25, 2, 8} {
		for _, window := range []time.Duration{0, time.Second} {
			for _, after := range []time.Duration{0, time.Second} {
				t.Run(fmt.Sprintf("%v connections, window %v, retry after %v", connections, window, after), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := &storage{speed: speed, capacity: clients * connections * speed, window: window, after: after, sent: map[int]float64{}, filled: time.Now()}
						ctx, cancel := context.WithCancel(t.Context())
						for client := range clients {
							defer slots(ctx, t, s, client)()
						}
						defer cancel()
						time.Sleep(seconds / 6 * time.Second) // the beginning, in which all send many requests
						s.mu.Lock()
						clear(s.sent)
						s.mu.Unlock()
						time.Sleep(seconds * time.Second)
						s.mu.Lock()
						defer s.mu.Unlock()
						least, all := s.sent[0], 0.0
						for _, sent := range s.sent {
							least, all = min(least, sent), all+sent
						}
						use := all / s.capacity / seconds
						t.Logf("%.3f of the capacity used; least share %.2f; %d throttled requests", use, least/all*clients, s.throttled)
						if use < 0.9 {
							t.Errorf("the workers use %.3f of the capacity, want at least 0.9", use)
						}
					})
				})
			}
		}
	}
}

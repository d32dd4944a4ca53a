package bench

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/client"
)

// samples is a list of samples of the number of completed partitions, as the leader reported it.
type samples struct {
	mu   sync.Mutex
	list []sample
}

type sample struct {
	at   time.Time
	done float64
}

func (s *samples) take(ctx context.Context, c *client.Client, job string) {
	for wait(ctx, fine) == nil {
		if p, err := c.Progress(ctx, job); err == nil {
			s.add(time.Now(), float64(p.Done))
		}
	}
}

// add ignores a sample with fewer partitions than the last one: a new leader does not know of all completed
// partitions until workers have reported the partials that they hold.
func (s *samples) add(at time.Time, done float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.list); n == 0 || done >= s.list[n-1].done {
		s.list = append(s.list, sample{at, done})
	}
}

// between interpolates how many partitions were completed between two moments.
func (s *samples) between(from, to time.Time) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doneBy(to) - s.doneBy(from)
}

// news returns the number of samples between two moments in which the completed partitions have grown.
func (s *samples) news(from, to time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for i := 1; i < len(s.list); i++ {
		if at := s.list[i].at; at.After(from) && !at.After(to) && s.list[i].done > s.list[i-1].done {
			n++
		}
	}
	return n
}

func (s *samples) doneBy(t time.Time) float64 {
	i, found := slices.BinarySearchFunc(s.list, t, func(s sample, t time.Time) int { return s.at.Compare(t) })
	switch {
	case len(s.list) == 0:
		return 0
	case i == len(s.list):
		return s.list[i-1].done
	case i == 0 || found:
		return s.list[i].done
	}
	a, b := s.list[i-1], s.list[i]
	share := float64(t.Sub(a.at)) / float64(b.at.Sub(a.at))
	return a.done + share*(b.done-a.done)
}

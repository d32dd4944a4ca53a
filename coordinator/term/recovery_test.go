package term_test

import (
	"testing"
	"time"
)

// workers returns the number of workers in the last beacon of a leader, which is 0 during recovery.
func (l *leader) workers() int { return l.beacons[len(l.beacons)-1].Workers }

// A beacon announces a change of the number of workers before the next regular beacon.
func TestBeaconsFollowTheNumberOfWorkers(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1")
	l := c.lead(plain)
	c.until("the first worker", func() bool { return l.workers() == 1 })
	c.addWorker("w2").follow(l)
	joined := c.now
	c.until("the second worker", func() bool { return l.workers() == 2 })
	if took := c.now.Sub(joined); took > 200*time.Millisecond {
		t.Errorf("the number of workers was announced %v after a worker had joined", took)
	}
}

// A new leader begins to assign work as soon as all workers have reported that the previous leader had, except
// the worker in its process. If a worker is missing, the new leader waits for the grace period.
func TestRecoveryEndsWithTheLastReport(t *testing.T) {
	for _, missing := range []bool{false, true} {
		c := newCluster(t)
		c.addWorker("w1")
		c.addWorker("w2")
		c.lead(plain)
		if c.had = 3; missing {
			c.had++
		}
		c.leaders[0].kill()
		l := c.lead(plain)
		began := c.now
		c.until("the end of recovery", func() bool {
			recovered := l.term.TickEvery() > step
			if !recovered && l.workers() > 0 {
				t.Errorf("a beacon during recovery announces %d workers, of which some may not have reported", l.workers())
			}
			return recovered
		})
		const grace = 50 * time.Millisecond
		if took := c.now.Sub(began); took >= grace != missing {
			t.Errorf("recovery took %v, want at least %v: %v", took, grace, missing)
		}
	}
}

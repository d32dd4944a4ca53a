package term_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// A job's timeout is the sum of its leaders' terms, whatever the clocks of their machines show.
func TestTimeoutUnderLeadersWithDifferentClocks(t *testing.T) {
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			const timeout = 10 * time.Second
			c := newCluster(t)
			c.clocks = func(epoch uint64) time.Duration { return ahead * time.Duration(epoch-1) }
			w := c.addWorker("w1")
			w.hangs = true
			job := c.submitSpec(func(s *store.Spec) { s.Timeout = timeout }, "partitions=8")
			c.lead(plain)
			for range 3 {
				c.pass(3 * time.Second)
				if m := c.manifest(job); m.State != store.Running {
					t.Fatalf("job is %s after %v: %s", m.State, m.Elapsed, m.Error)
				}
				c.leaders[len(c.leaders)-1].kill()
				c.lead(plain)
			}
			c.pass(timeout / 2) // each death may hide the time since the last checkpoint
			m := c.manifest(job)
			if m.State != store.Failed || !strings.Contains(m.Error, "timeout") {
				t.Errorf("job is %s after %v: %q, want a timeout", m.State, m.Elapsed, m.Error)
			}
			for i := 1; i < len(m.Samples); i++ {
				if m.Samples[i].At <= m.Samples[i-1].At {
					t.Errorf("samples at %v and then at %v", m.Samples[i-1].At, m.Samples[i].At)
				}
			}
		})
	}
}

// A job that a leader of an earlier version has begun keeps the time that its samples show.
func TestTimeoutOfAJobFromAnEarlierVersion(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1").hangs = true
	job := c.submitSpec(func(s *store.Spec) { s.Timeout = 10 * time.Second }, "partitions=8")
	first := c.lead(plain)
	c.pass(6 * time.Second)
	first.kill()
	c.change(job, func(m *store.Manifest) { m.Elapsed = 0 })
	c.lead(plain)
	c.until("the timeout", func() bool { return c.manifest(job).State == store.Failed })
	if spent := c.manifest(job).Elapsed; spent < 10*time.Second || spent > 12*time.Second {
		t.Errorf("the job had %v", spent)
	}
}

// The map tells the ages of the job and of its checkpoint as the leader measures them.
func TestAgesInTheMapUnderAnotherClock(t *testing.T) {
	c := newCluster(t)
	c.clocks = func(epoch uint64) time.Duration { return time.Hour * time.Duration(epoch-1) }
	c.addWorker("w1")
	first := c.lead(plain)
	job := c.submit("partitions=8")
	c.until("the plan", func() bool { return c.manifest(job).Partitions > 0 })
	c.workers[0].hangs = true
	c.pass(3 * time.Second)
	first.kill()
	leader := c.lead(plain)
	query := wire.JobQuery{Job: job, Windows: []wire.Window{{Step: 1, Cells: 8}}}
	var m *wire.JobMap
	c.until("the map", func() bool {
		m = leader.term.Jobs(query).Map
		return m != nil && m.CheckpointAge > 0
	})
	if m.Elapsed <= 0 || m.Elapsed > 5*time.Second || m.CheckpointAge > 5*time.Second {
		t.Errorf("the job is %v old, and its checkpoint %v", m.Elapsed, m.CheckpointAge)
	}
}

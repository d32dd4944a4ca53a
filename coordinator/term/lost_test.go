package term_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

const searchEvery = 4 * hideFor

// searching configures a leader that often searches for jobs without a message.
func searching(cfg *term.Config) { cfg.SearchEvery = searchEvery }

// submitLost submits a job whose message is lost.
func (c *cluster) submitLost(params ...string) string {
	c.t.Helper()
	kept := c.queue.messages
	job := c.submit(params...)
	c.queue.messages = kept
	return job
}

// A job whose message is lost is begun, and the status says before that the message is missing.
func TestLostMessageIsSentAgain(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1")
	leader := c.lead(searching)
	job := c.submitLost("partitions=8")
	c.until("the status to tell", func() bool {
		list := leader.term.Jobs(wire.JobQuery{Job: job}).Jobs
		return len(list) == 1 && list[0].State == string(store.Queued) && list[0].Trouble != ""
	})
	c.wantCompleted(job, localResult(t, "partitions=8"))
	c.until("the clean-up", c.cleanedUp)
}

// The leader may die before or after each storage call of the search, and calls and their answers may
// be lost.
func TestLostMessageAtEveryMoment(t *testing.T) {
	atEveryMoment(t, 40, func(t *testing.T, moment int, o outcome) {
		c := newCluster(t)
		c.addWorker("w1")
		job := c.submitLost("partitions=8")
		held, over := c.holdAt(moment)
		c.lead(searching)
		c.until("the held call", func() bool { return *held || c.manifest(job).State.Final() })
		if o == dies {
			c.leaders[0].kill()
			c.lead(searching)
		} else {
			c.release(o, over)
		}
		c.wantCompleted(job, localResult(t, "partitions=8"))
		c.until("the clean-up", c.cleanedUp)
	})
}

// A message that comes twice does no harm: one of the two was only late.
func TestMessageThatWasNotLost(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1")
	job := c.submit("partitions=8")
	late := c.queue.messages[0]
	late.hiddenUntil = c.now.Add(time.Hour)
	c.lead(searching)
	c.until("the job's begin", func() bool { return c.manifest(job).State == store.Running })
	late.hiddenUntil = c.now
	c.wantCompleted(job, localResult(t, "partitions=8"))
	if m := c.manifest(job); m.Executed != 8 {
		t.Errorf("executed %d partitions, want each once", m.Executed)
	}
	c.until("the clean-up", c.cleanedUp)
}

// A submission that lasts long is not lost: its files grow.
func TestSlowSubmissionIsNotLost(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1")
	job := c.submitLost("partitions=8")
	c.lead(searching)
	for i := range 100 {
		c.put(fmt.Sprintf("attachment/%s/%d", job, i), []byte("piece"))
		c.pass(searchEvery / 10)
	}
	if len(c.queue.messages) > 0 || c.manifest(job).State != "" {
		t.Fatal("the message was sent again although the files grew")
	}
	c.wantCompleted(job, localResult(t, "partitions=8"))
}

// Jobs that wait, that are parked and that are on the poison list are not lost.
func TestKnownJobsAreNotLost(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1").hangs = true
	c.lead(func(cfg *term.Config) {
		searching(cfg)
		cfg.MaxActive = 1
	})
	for range 3 {
		c.submit("partitions=8")
	}
	poisoned := c.submitLost("partitions=8")
	c.put("poison/"+poisoned, []byte("a message"))
	c.pass(6 * searchEvery)
	if n := len(c.queue.messages); n != 3 {
		t.Errorf("the queue has %d messages, want 3", n)
	}
}

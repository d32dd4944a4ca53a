package term_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// submitAfter submits a job that runs after other jobs.
func (c *cluster) submitAfter(ids ...string) string {
	c.t.Helper()
	return c.submitSpec(func(s *store.Spec) { s.After = ids }, "partitions=8")
}

// A chain of jobs runs in its order, and what waits says for what.
func TestChain(t *testing.T) {
	c := newCluster(t)
	l := c.lead(plain)
	first := c.submit("partitions=20")
	second := c.submitAfter(first)
	third := c.submitAfter(second, first)
	c.until("the jobs to wait", func() bool {
		return c.manifest(third).State == store.Queued && len(l.term.Jobs(wire.JobQuery{}).Jobs) == 3
	})
	for _, j := range l.term.Jobs(wire.JobQuery{}).Jobs {
		if want := "it runs after " + second + ", " + first; j.Job == third && j.Trouble != want {
			t.Errorf("the trouble of the third job is %q, want %q", j.Trouble, want)
		}
	}
	c.addWorker("w1").follow(l)
	c.until("the first job's end", func() bool { return c.manifest(first).State.Final() })
	if m := c.manifest(third); m.State != store.Queued {
		t.Errorf("the third job is %s before the second has ended", m.State)
	}
	c.wantCompleted(first, localResult(t, "partitions=20"))
	c.wantCompleted(second, localResult(t, "partitions=8"))
	c.wantCompleted(third, localResult(t, "partitions=8"))
	if s, e := c.manifest(third).Started, c.manifest(second).Finished; s.Before(e) {
		t.Errorf("the third job started at %v, before the second had finished at %v", s, e)
	}
}

// A job fails by name if a job before it fails, is cancelled or was removed.
func TestChainBreaks(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(c *cluster, l *leader, id string)
		want string
	}{
		"failed": {func(c *cluster, l *leader, _ string) {
			w := c.addWorker("w1")
			w.fails = "no disk"
			w.follow(l)
		}, "failed: "},
		"cancelled": {func(_ *cluster, l *leader, id string) { l.turn(func() { l.term.Cancel(id, func(error) {}) }) }, "was cancelled"},
		"removed": {func(c *cluster, _ *leader, id string) {
			c.queue.messages = c.queue.messages[1:]
			if err := c.store.Remove(context.Background(), id); err != nil {
				c.t.Fatal(err)
			}
		}, "was removed"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			l := c.lead(plain)
			first := c.submit("partitions=20")
			second := c.submitAfter(first)
			third := c.submitAfter(second)
			if name != "removed" {
				c.until("the job to wait", func() bool { return c.manifest(third).State == store.Queued })
			}
			test.end(c, l, first)
			c.until("the end of the chain", func() bool { return c.manifest(third).State == store.Failed && c.cleanedUp() })
			if got, want := c.manifest(second).Error, "job "+first+", after which this job runs, "+test.want; !strings.HasPrefix(got, want) {
				t.Errorf("the second job's error is %q, want %q", got, want)
			}
			if got, want := c.manifest(third).Error, "job "+second+", after which this job runs, failed: job "+first; !strings.HasPrefix(got, want) {
				t.Errorf("the third job's error is %q, want %q", got, want)
			}
		})
	}
}

// A waiting job can be cancelled.
func TestWaitingLinkIsCancelled(t *testing.T) {
	c := newCluster(t)
	l := c.lead(plain)
	first := c.submit("partitions=20")
	second := c.submitAfter(first)
	c.until("the job to wait", func() bool { return c.manifest(second).State == store.Queued })
	answered := false
	l.turn(func() { l.term.Cancel(second, func(err error) { answered = err == nil }) })
	c.until("the cancellation", func() bool { return answered })
	c.addWorker("w1").follow(l)
	c.wantCompleted(first, localResult(t, "partitions=20"))
	if m := c.manifest(second); m.State != store.Cancelled {
		t.Errorf("the second job is %s", m.State)
	}
}

// Another leader may replace the first one at each step of its storage calls: each job of a chain runs once, in order.
func TestChainSurvivesLeaders(t *testing.T) {
	chain := func(c *cluster, ok func() bool) (ids []string) {
		c.addWorker("w1")
		c.lead(plain)
		ids = append(ids, c.submit("partitions=8"))
		ids = append(ids, c.submitAfter(ids[0]))
		ids = append(ids, c.submitAfter(ids[1]))
		c.until("the end", func() bool { return ok() || c.manifest(ids[2]).State.Final() && c.cleanedUp() })
		return ids
	}
	want := localResult(t, "partitions=8")
	c := newCluster(t)
	c.hold = func(int) func() bool { return nil }
	chain(c, func() bool { return false })
	if c.moments < 40 {
		t.Errorf("%d moments in a term", c.moments)
	}
	for _, r := range replacements {
		for moment := 1; moment <= c.moments; moment += 3 { // the steps of the three jobs are alike
			t.Run(fmt.Sprintf("%s/%d", r.name, moment), func(t *testing.T) {
				t.Parallel()
				c := newCluster(t)
				held, over := c.holdAt(moment)
				resumeCall := func() { *over = true }
				ids := chain(c, func() bool { return *held })
				if !*held {
					t.Fatal("the moment did not come")
				}
				r.replace(c, c.leaders[0], resumeCall)
				for i, id := range ids {
					c.wantCompleted(id, want)
					if i > 0 && c.manifest(id).Started.Before(c.manifest(ids[i-1]).Finished) {
						t.Errorf("job %d began before job %d had ended", i+1, i)
					}
				}
				resumeCall()
				c.until("the tasks to return", c.leaders[0].idle)
			})
		}
	}
	t.Logf("%d moments", c.moments)
}

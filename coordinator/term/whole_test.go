package term_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// badPartitions are those that fail in the tests of this file.
var badPartitions = []uint64{0, 5, 6}

// submitBad submits a job to workers on which badPartitions fail. It may skip them.
func (c *cluster) submitBad(params ...string) (id string) {
	c.t.Helper()
	c.addWorker("w1").bad = badPartitions
	c.lead(plain)
	return c.submitSpec(func(s *store.Spec) { s.MaxSkipped, s.MaxAttempts = 3, 1 }, params...)
}

// ended reports whether a job has ended and is cleaned up.
func (c *cluster) ended(id string) bool {
	c.t.Helper()
	active, err := c.store.Active(context.Background())
	if err != nil {
		c.t.Fatal(err)
	}
	return c.manifest(id).State.Final() && !slices.Contains(active, id)
}

// wantRetried checks that a completed job has skipped badPartitions, and that a job which retries it runs only these and has
// the result of a whole run. It then removes the old job.
func (c *cluster) wantRetried(old, want string, params ...string) {
	c.t.Helper()
	if m := c.manifest(old); m.State != store.Completed || !slices.Equal(m.Skipped, badPartitions) || len(m.Whole) > 0 {
		c.t.Fatalf("the job is %s: %s, skipped %v, %d whole nodes", m.State, m.Error, m.Skipped, len(m.Whole))
	}
	for _, w := range c.workers {
		w.bad = nil
	}
	id := c.retry(old, params...)
	c.until("the retried job's end", func() bool { return c.ended(id) })
	result, err := c.store.Result(context.Background(), id, "")
	if m := c.manifest(id); err != nil || m.State != store.Completed || string(result) != want || len(m.Nodes) > 0 {
		c.t.Fatalf("the retried job is %s: %s; %.100s, %v; it keeps %v", m.State, m.Error, result, err, m.Nodes)
	}
	if got := c.ran(id); got != len(badPartitions) {
		c.t.Errorf("ran %d partitions, want the %d that were skipped", got, len(badPartitions))
	}
	if err := c.store.Remove(context.Background(), old); err != nil || len(c.partials()) > 0 {
		c.t.Errorf("after the removal of the old job: %v, left %v", err, c.partials())
	}
}

// A job that retries a completed one runs only what was skipped.
func TestRetryCompletes(t *testing.T) {
	for name, params := range map[string][]string{
		"small":       {"partitions=11"},
		"blobs":       {"partitions=11", "pad=3_000"},
		"large blobs": {"partitions=11", "pad=66_000"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			old := c.submitBad(params...)
			c.until("the job's end", func() bool { return c.ended(old) })
			c.wantRetried(old, localResult(t, params...), params...)
		})
	}
}

// A retried job may skip partitions again, and may be retried again.
func TestRetrySkipsAgain(t *testing.T) {
	c := newCluster(t)
	old := c.submitBad("partitions=11", "pad=3_000")
	c.until("the job's end", func() bool { return c.ended(old) })
	again := c.submitSpec(func(s *store.Spec) { s.MaxSkipped, s.MaxAttempts, s.Retries = 3, 1, old }, "partitions=11", "pad=3_000")
	c.until("the next job's end", func() bool { return c.ended(again) })
	if got := c.ran(again); got != 0 {
		t.Errorf("ran %d partitions, want none, because all failed again", got)
	}
	if err := c.store.Remove(context.Background(), old); err != nil {
		t.Fatal(err)
	}
	c.wantRetried(again, localResult(t, "partitions=11", "pad=3_000"), "partitions=11", "pad=3_000")
}

// Another leader may replace the leader of a job with skipped partitions at each step of its storage calls. The job still
// keeps what a retried job needs, and nothing else.
func TestWholeNodesSurviveLeaders(t *testing.T) {
	params := []string{"partitions=11", "pad=3_000"}
	want := localResult(t, params...)
	run := func(c *cluster, ok func() bool) (id string) {
		id = c.submitBad(params...)
		c.until("the end", func() bool { return ok() || c.ended(id) })
		return id
	}
	c := newCluster(t)
	c.hold = func(int) func() bool { return nil }
	run(c, func() bool { return false })
	for _, r := range replacements {
		for moment := 1; moment <= c.moments; moment += 2 {
			t.Run(fmt.Sprintf("%s/%d", r.name, moment), func(t *testing.T) {
				t.Parallel()
				c := newCluster(t)
				held, over := c.holdAt(moment)
				resumeCall := func() { *over = true }
				id := run(c, func() bool { return *held })
				if !*held {
					t.Fatal("the moment did not come")
				}
				r.replace(c, c.leaders[0], resumeCall)
				c.until("the end", func() bool { return c.ended(id) })
				resumeCall()
				c.until("the tasks to return", c.leaders[0].idle)
				c.wantRetried(id, want, params...)
			})
		}
	}
	t.Logf("%d moments", c.moments)
}

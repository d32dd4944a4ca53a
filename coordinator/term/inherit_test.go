package term_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// failHalfway runs a job whose partitions fail after a checkpoint has some of them. It ends the leader, and returns the
// job and the number of its partitions that are in its final manifest.
func (c *cluster) failHalfway(params ...string) (id string, done uint64) {
	c.t.Helper()
	w := c.addWorker("w1")
	l := c.lead(plain)
	id = c.submit(params...)
	c.until("a checkpoint", func() bool { return len(c.manifest(id).Nodes) > 1 })
	w.fails = "no disk"
	c.until("the failure", func() bool { return c.manifest(id).State == store.Failed && c.cleanedUp() })
	w.fails = ""
	l.kill()
	m := c.manifest(id)
	tree, err := engine.NewTree(m.Partitions)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, n := range m.Nodes {
		done += tree.Span(n.Node).Len()
	}
	if done == 0 || done >= m.Partitions {
		c.t.Fatalf("%d of %d partitions are done", done, m.Partitions)
	}
	return id, done
}

// retry submits a job that retries another one.
func (c *cluster) retry(id string, params ...string) string {
	c.t.Helper()
	return c.submitSpec(func(s *store.Spec) { s.Retries = id }, params...)
}

// ran returns the number of partitions of a job that workers have run.
func (c *cluster) ran(id string) (n int) {
	for _, w := range c.workers {
		n += w.ran[id]
	}
	return n
}

// A retried job has the result of a whole run, and runs only what the failed job had not done.
func TestRetryInherits(t *testing.T) {
	for name, params := range map[string][]string{
		"small": {"partitions=40"},
		"blobs": {"partitions=40", "pad=3_000"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			old, done := c.failHalfway(params...)
			c.lead(plain)
			id := c.retry(old, params...)
			c.until("the job's end", func() bool { return c.manifest(id).State.Final() && c.cleanedUp() })
			result, err := c.store.Result(context.Background(), id, "")
			if m := c.manifest(id); err != nil || m.State != store.Completed || string(result) != localResult(t, params...) {
				t.Fatalf("the job is %s: %s; %.100s, %v", m.State, m.Error, result, err)
			}
			if got, want := c.ran(id), int(c.manifest(id).Partitions-done); got != want {
				t.Errorf("ran %d partitions, want the %d that were not done", got, want)
			}
			if err := c.store.Remove(context.Background(), old); err != nil || len(c.partials()) > 0 {
				t.Errorf("after the removal of the old job: %v, left %v", err, c.partials())
			}
		})
	}
}

// A retried job computes everything if the failed job was removed, and what was skipped is tried again.
func TestRetryOfWhatIsGone(t *testing.T) {
	c := newCluster(t)
	old, _ := c.failHalfway("partitions=40")
	if err := c.store.Remove(context.Background(), old); err != nil {
		t.Fatal(err)
	}
	c.lead(plain)
	id := c.retry(old, "partitions=40")
	c.wantCompleted(id, localResult(t, "partitions=40"))
}

func TestRetryRepeatsSkippedPartitions(t *testing.T) {
	c := newCluster(t)
	old, done := c.failHalfway("partitions=40")
	m, version, err := c.store.Manifest(t.Context(), old)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := engine.NewTree(m.Partitions)
	if err != nil {
		t.Fatal(err)
	}
	span := tree.Span(m.Nodes[0].Node)
	m.Skipped = []uint64{span.Lo}
	if _, err := c.store.PutManifest(t.Context(), old, m, store.IfVersion(version)); err != nil {
		t.Fatal(err)
	}
	c.lead(plain)
	id := c.retry(old, "partitions=40")
	c.until("the job's end", func() bool { return c.manifest(id).State.Final() && c.cleanedUp() })
	if got, want := c.ran(id), int(40-done+span.Len()); got != want || len(c.manifest(id).Skipped) > 0 {
		t.Errorf("ran %d partitions, want %d; skipped %v", got, want, c.manifest(id).Skipped)
	}
}

// Another leader may replace the first leader of a retried job at each step of its storage calls.
func TestRetrySurvivesLeaders(t *testing.T) {
	params := []string{"partitions=12", "pad=3_000"}
	retry := func(c *cluster, ok func() bool) (id string) {
		old, _ := c.failHalfway(params...)
		c.watched = 2
		c.lead(plain)
		id = c.retry(old, params...)
		c.until("the end", func() bool { return ok() || c.manifest(id).State.Final() && c.cleanedUp() })
		return id
	}
	want := localResult(t, params...)
	c := newCluster(t)
	c.hold = func(int) func() bool { return nil }
	c.watched = 2
	retry(c, func() bool { return false })
	for _, r := range replacements {
		for moment := 1; moment <= c.moments; moment += 2 {
			t.Run(fmt.Sprintf("%s/%d", r.name, moment), func(t *testing.T) {
				t.Parallel()
				c := newCluster(t)
				held, over := c.holdAt(moment)
				c.watched = 2
				resumeCall := func() { *over = true }
				id := retry(c, func() bool { return *held })
				if !*held {
					t.Fatal("the moment did not come")
				}
				r.replace(c, c.leaders[1], resumeCall)
				c.until("the end", func() bool { return c.manifest(id).State.Final() && c.cleanedUp() })
				result, err := c.store.Result(context.Background(), id, "")
				if m := c.manifest(id); err != nil || m.State != store.Completed || string(result) != want {
					t.Fatalf("the job is %s: %s; %.100s, %v", m.State, m.Error, result, err)
				}
				resumeCall()
				c.until("the tasks to return", c.leaders[1].idle)
			})
		}
	}
	t.Logf("%d moments", c.moments)
}

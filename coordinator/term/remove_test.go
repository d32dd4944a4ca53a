package term_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// outcome is what happens to a leader whose storage call was held.
type outcome string

const (
	goesOn outcome = "goes on"
	loses  outcome = "loses the call" // the call or its answer is lost
	dies   outcome = "dies"
)

// release ends a hold with an outcome.
func (c *cluster) release(o outcome, over *bool) {
	switch o {
	case loses:
		c.loses = true
	case dies:
		c.leaders[c.watched-1].kill()
		c.lead(plain)
	}
	*over = true
}

// atEveryMoment tries each outcome at each step of a leader's storage calls.
func atEveryMoment(t *testing.T, moments int, try func(t *testing.T, moment int, o outcome)) {
	for moment := 1; moment <= moments; moment++ {
		for _, o := range []outcome{goesOn, loses, dies} {
			t.Run(fmt.Sprintf("%d/%s", moment, o), func(t *testing.T) { try(t, moment, o) })
		}
	}
}

// confirmed is longer than a leader takes to confirm that a job is missing.
const confirmed = time.Second + 40*step

// wantNothing waits until storage contains nothing of any job, and checks that nothing reappears
// and that the leader continues.
func (c *cluster) wantNothing() {
	c.t.Helper()
	c.until("empty storage", c.empty)
	c.pass(confirmed)
	last := c.leaders[len(c.leaders)-1]
	if _, left := last.term.Left(); !c.empty() || last.over || left {
		c.t.Error("something came back, or the leader ended")
	}
}

// A job that has ended or was cancelled is removed at each step of a storage call of its leader.
func TestRemoveAtEveryMoment(t *testing.T) {
	params := []string{"partitions=5", "pad=66_000"}
	c := newCluster(t)
	c.hold = func(int) func() bool { return nil }
	c.run(params, func() bool { return false })
	ended, cancelled := 0, 0
	atEveryMoment(t, c.moments, func(t *testing.T, moment int, o outcome) {
		c := newCluster(t)
		held, over := c.holdAt(moment)
		job := c.run(params, func() bool { return *held })
		if c.manifest(job).State.Final() {
			ended++
		} else {
			leader := c.leaders[0]
			leader.turn(func() { leader.term.Cancel(job, func(error) {}) })
			c.pass(20 * step)
			if !c.manifest(job).State.Final() {
				return // the held call prevents the job's end
			}
			cancelled++
		}
		c.remove(job)
		c.release(o, over)
		c.wantNothing()
	})
	if ended < 10 || cancelled < 10 {
		t.Errorf("the job had ended at %d moments, at %d it was cancelled", ended, cancelled)
	}
}

// A job is cancelled and removed while its leader begins it. Another storage call of the leader is
// held after the removal.
func TestRemoveWhileBegun(t *testing.T) {
	removeWhileBegun(t, (*cluster).remove, func(c *cluster, _ string) { c.wantNothing() })
}

// A job is cancelled and removed while its leader begins it, and a delayed write then stores
// the spec again.
func TestLateSpecAfterRemoveWhileBegun(t *testing.T) {
	removeWhileBegun(t, func(c *cluster, job string) {
		spec := c.get("spec/" + job)
		c.remove(job)
		c.put("spec/"+job, spec)
	}, (*cluster).wantOnlySpec)
}

func removeWhileBegun(t *testing.T, remove, want func(c *cluster, job string)) {
	removed, params := 0, []string{"partitions=5"}
	for begun := 1; begun <= 12; begun++ {
		atEveryMoment(t, 12, func(t *testing.T, moment int, o outcome) {
			c := newCluster(t)
			heldFirst, overFirst := c.holdAt(begun)
			job := c.run(params, func() bool { return *heldFirst })
			leader := c.leaders[0]
			leader.turn(func() { leader.term.Cancel(job, func(error) {}) })
			c.pass(20 * step)
			if !c.manifest(job).State.Final() {
				return
			}
			remove(c, job)
			held, over := c.holdAt(c.moments + moment)
			*overFirst = true
			c.pass(confirmed)
			if *held {
				removed++
				c.release(o, over)
			}
			want(c, job)
		})
	}
	if removed < 30 {
		t.Errorf("there were %d moments", removed)
	}
}

// A job ends and is removed at each step at which the next leader is about to resume it. The first
// leader continues until the next leader has fenced it.
func TestRemoveWhileResumed(t *testing.T) {
	removed := 0
	atEveryMoment(t, 12, func(t *testing.T, moment int, o outcome) {
		c := newCluster(t)
		worker := c.addWorker("w1")
		first := c.lead(plain)
		job := c.submit("partitions=5")
		c.until("the job to run", func() bool { return c.manifest(job).State == store.Running })
		c.watched = 2
		held, over := c.holdAt(moment)
		c.lead(plain)
		worker.follow(first)
		c.until("the job's end", func() bool { return c.manifest(job).State.Final() || first.over })
		if !*held || first.over {
			return
		}
		removed++
		c.remove(job)
		c.release(o, over)
		c.wantNothing()
	})
	if removed < 12 {
		t.Errorf("the job was removed at %d moments", removed)
	}
}

// A leader is deposed while it begins a job. The next leader begins the job, which is then
// cancelled and removed, and a delayed write stores the spec again. The first leader's calls then
// continue from each step, and the leader removes what it has written.
func TestDeposedLeaderBeginsRemovedJob(t *testing.T) {
	late := 0
	for begun := 1; begun <= 12; begun++ {
		t.Run(fmt.Sprint(begun), func(t *testing.T) {
			c := newCluster(t)
			first := c.lead(plain)
			first.hello()
			held, over := c.holdAt(c.moments + begun)
			job := c.submit("partitions=5")
			c.pass(20 * step)
			if !*held {
				t.Fatalf("the leader does not come to call %d", begun)
			}
			next := c.lead(plain)
			next.hello()
			c.pass(2 * hideFor)
			next.turn(func() { next.term.Cancel(job, func(error) {}) })
			c.until("the job's end", func() bool { return c.manifest(job).State.Final() })
			spec := c.get("spec/" + job)
			c.remove(job)
			c.put("spec/"+job, spec)
			c.pass(confirmed)
			*over = true
			for range 20 {
				c.pass(step)
				if len(c.keys()) > 1 {
					late++
					break
				}
			}
			c.pass(confirmed)
			if keys := c.keys(); len(keys) > 1 {
				t.Errorf("the first leader has left %q", keys)
			}
			first.kill() // otherwise the first leader might extend the submission again and again
			c.wantOnlySpec(job)
		})
	}
	if late == 0 {
		t.Error("the first leader never wrote anything after the removal")
	}
}

// A job may be cancelled before its submission is received, and then removed.
func TestSubmissionOfRemovedJob(t *testing.T) {
	c := newCluster(t)
	job := c.submit("partitions=5")
	c.remove(job)
	leader := c.lead(plain)
	c.until("empty storage", c.empty)
	if leader.over {
		t.Error("the leader ended")
	}
	c.addWorker("w1").follow(leader)
	c.wantCompleted(c.submit("partitions=5"), localResult(t, "partitions=5"))
}

func (c *cluster) remove(job string) {
	c.t.Helper()
	if err := c.store.Remove(context.Background(), job); err != nil {
		c.t.Fatal(err)
	}
}

// empty reports whether storage contains nothing of any job.
func (c *cluster) empty() bool {
	c.t.Helper()
	for _, kind := range []string{"spec/", "plan/", "manifest/", "partial/", "result/", "active/"} {
		keys, err := c.blobs.List(context.Background(), kind)
		if err != nil {
			c.t.Fatal(err)
		}
		if len(keys) > 0 {
			return false
		}
	}
	return len(c.queue.messages) == 0
}

// An unreadable job is removed while its leader has parked it.
func TestRemoveDamaged(t *testing.T) {
	for _, damaged := range []string{"spec/", "manifest/"} {
		t.Run(damaged, func(t *testing.T) {
			c := newCluster(t)
			job := c.submit("partitions=5")
			if damaged == "spec/" { // otherwise the leader would not begin the job
				done := store.Manifest{Epoch: 1, Sequence: 1, State: store.Running, Partitions: 5, Epochs: []uint64{1}}
				if _, err := c.store.PutManifest(t.Context(), job, done, store.IfAbsent); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := c.blobs.Put(t.Context(), damaged+job, []byte{1}, store.Always); err != nil {
				t.Fatal(err)
			}
			l := c.lead(plain)
			c.until("the job to be parked", func() bool { return len(l.term.Jobs(wire.JobQuery{}).Jobs) == 1 })
			c.pass(2 * hideFor)
			c.remove(job)
			c.wantNothing()
			if jobs := l.term.Jobs(wire.JobQuery{}).Jobs; len(jobs) > 0 {
				t.Errorf("the leader still has %+v", jobs)
			}
		})
	}
}

package term_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// get reads a blob.
func (c *cluster) get(key string) []byte {
	c.t.Helper()
	data, _, err := c.blobs.Get(context.Background(), key)
	if err != nil {
		c.t.Fatal(err)
	}
	return data
}

func (c *cluster) put(key string, data []byte) {
	c.t.Helper()
	if _, err := c.blobs.Put(context.Background(), key, data, store.Always); err != nil {
		c.t.Fatal(err)
	}
}

// keys returns the keys of all records of jobs.
func (c *cluster) keys() (all []string) {
	c.t.Helper()
	for _, kind := range []string{"spec/", "plan/", "manifest/", "partial/", "result/", "active/", "poison/"} {
		keys, err := c.blobs.List(context.Background(), kind)
		if err != nil {
			c.t.Fatal(err)
		}
		all = append(all, keys...)
	}
	return all
}

// wantOnlySpec waits until storage contains only the spec of a removed job, and checks that this
// remains true.
func (c *cluster) wantOnlySpec(job string) {
	c.t.Helper()
	only := func() bool {
		return len(c.queue.messages) == 0 && strings.Join(c.keys(), " ") == "spec/"+job
	}
	c.until("only the spec", only)
	c.pass(confirmed)
	if last := c.leaders[len(c.leaders)-1]; !only() || last.over {
		c.t.Errorf("storage has %q, leader over: %v", c.keys(), last.over)
	}
}

// The answer to a submitter's write of the spec may be lost, and the write may take effect after
// another write of the submitter and after the job's removal. The job's submission that is still in
// the queue then begins nothing.
func TestLateSpecOfRemovedJob(t *testing.T) {
	c := newCluster(t)
	job := c.submit("partitions=5")
	spec := c.get("spec/" + job)
	c.remove(job)
	c.put("spec/"+job, spec)
	leader := c.lead(plain)
	c.wantOnlySpec(job)
	c.addWorker("w1").follow(leader)
	c.wantCompleted(c.submit("partitions=5"), localResult(t, "partitions=5"))
}

// The submission goes to the leader instead of the poison list.
func TestLateSpecOfRemovedJobThatWasDeliveredOften(t *testing.T) {
	c := newCluster(t)
	job := c.submit("partitions=5")
	c.queue.messages[0].deliveries = store.MaxDeliveries
	spec := c.get("spec/" + job)
	c.remove(job)
	c.put("spec/"+job, spec)
	c.lead(plain)
	c.wantOnlySpec(job)
}

// A user who sees the spec may cancel the job before the submission is delivered. The manifest of
// such a cancellation is removed.
func TestLateSpecOfRemovedJobIsCancelled(t *testing.T) {
	c := newCluster(t)
	job := c.submit("partitions=5")
	spec := c.get("spec/" + job)
	c.remove(job)
	c.put("spec/"+job, spec)
	submission := c.queue.messages[0]
	submission.hiddenUntil = c.now.Add(1000 * hideFor)
	leader := c.lead(plain)
	leader.turn(func() { leader.term.Cancel(job, func(error) {}) })
	c.until("the cancellation", func() bool { return c.manifest(job).State == store.Cancelled })
	submission.hiddenUntil = c.now
	c.wantOnlySpec(job)
}

// The spec is stored again at each step of a leader's storage calls at which the job can be
// cancelled and removed.
func TestLateSpecWhileBegun(t *testing.T) {
	removed := 0
	atEveryMoment(t, 12, func(t *testing.T, moment int, o outcome) {
		c := newCluster(t)
		held, over := c.holdAt(moment)
		job := c.run([]string{"partitions=5"}, func() bool { return *held })
		leader := c.leaders[0]
		leader.turn(func() { leader.term.Cancel(job, func(error) {}) })
		c.pass(20 * step)
		if !c.manifest(job).State.Final() {
			return // the held call prevents the job's end
		}
		removed++
		spec := c.get("spec/" + job)
		c.remove(job)
		c.put("spec/"+job, spec)
		c.release(o, over)
		c.wantOnlySpec(job)
	})
	if removed < 12 {
		t.Errorf("the job was removed at %d moments", removed)
	}
}

// A single read that wrongly finds no spec, or neither spec nor manifest, loses nothing.
func TestOneAbsentReadDeletesNothing(t *testing.T) {
	for _, kinds := range []string{"spec/", "spec/ manifest/", "spec/ manifest/ plan/"} {
		for _, running := range []bool{false, true} {
			c := newCluster(t)
			job := c.submit("partitions=5")
			if running {
				c.addWorker("w1")
				first := c.lead(plain)
				c.until("the job to run", func() bool { return c.manifest(job).State == store.Running })
				first.kill()
			}
			missed := map[string]bool{}
			c.blobs.Inject(func(call memory.Call) error {
				kind, _, _ := strings.Cut(call.Key, "/")
				kind += "/"
				if call.Operation == memory.Get && !call.Done && !missed[kind] && strings.Contains(kinds, kind) {
					missed[kind] = true
					return store.ErrNotFound
				}
				return nil
			})
			c.addWorker("w2")
			c.lead(plain)
			c.until("the end", func() bool { return c.manifest(job).State == store.Completed && c.cleanedUp() })
		}
	}
}

// A running job whose spec was deleted or overwritten, or has a format that the leader does not know, is parked with
// all its records. The next leader completes the parked job if it can read the spec.
func TestSpecOfRunningJobIsChanged(t *testing.T) {
	for name, change := range map[string]func(c *cluster, job, other string){
		"deleted": func(c *cluster, job, _ string) {
			if err := c.blobs.Delete(context.Background(), "spec/"+job); err != nil {
				c.t.Fatal(err)
			}
		},
		"blanked": func(c *cluster, job, _ string) { c.put("spec/"+job, nil) },
		"of a later version": func(c *cluster, job, _ string) {
			c.put("spec/"+job, append([]byte{99}, c.get("spec/" + job)[1:]...))
		},
		"changed": func(c *cluster, job, other string) {
			spec, err := c.store.Spec(context.Background(), job)
			if err != nil {
				c.t.Fatal(err)
			}
			spec.ID = other
			spec.Priority++
			if err := c.store.Submit(context.Background(), spec.Spec); err != nil {
				c.t.Fatal(err)
			}
			changed := []byte(strings.Replace(string(c.get("spec/"+other)), other, job, 1))
			if err := c.store.Remove(context.Background(), other); err != nil {
				c.t.Fatal(err)
			}
			c.queue.messages = c.queue.messages[:len(c.queue.messages)-1]
			c.put("spec/"+job, changed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.addWorker("w1")
			first := c.lead(plain)
			job := c.submit("partitions=50")
			c.until("the job to run", func() bool { return len(c.manifest(job).Nodes) > 0 })
			first.kill()
			spec, before := c.get("spec/"+job), c.keys()
			change(c, job, "0000000000000000")
			second := c.lead(plain)
			c.until("the job to be parked", func() bool { return len(second.term.Jobs(wire.JobQuery{}).Jobs) == 1 })
			c.pass(confirmed)
			reason := second.term.Jobs(wire.JobQuery{}).Jobs[0].Trouble
			if !strings.Contains(reason, "spec") {
				t.Errorf("parked: %s", reason)
			}
			second.kill()
			c.put("spec/"+job, spec)
			if after := c.keys(); strings.Join(after, " ") != strings.Join(before, " ") {
				t.Errorf("storage has %q, had %q", after, before)
			}
			c.lead(plain)
			c.until("the end", func() bool { return c.manifest(job).State == store.Completed && c.cleanedUp() })
		})
	}
}

// The first manifest of a deposed leader may be stored after the job was removed, and so may the
// spec. No later leader resumes the removed job.
func TestLateManifestOfRemovedJob(t *testing.T) {
	c := newCluster(t)
	job := c.submit("partitions=5")
	data := c.get("spec/" + job)
	spec, err := c.store.Spec(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	c.remove(job)
	c.put("spec/"+job, data)
	first := store.Manifest{
		Epoch: 1, Sequence: 1, State: store.Running, Epochs: []uint64{1}, SpecSHA256: spec.SHA256, SpecVersion: spec.Written,
	}
	if _, err := c.store.PutManifest(t.Context(), job, first, store.IfAbsent); err != nil {
		t.Fatal(err)
	}
	c.addWorker("w1")
	c.lead(plain)
	c.wantOnlySpec(job)
}

// A request to cancel a job may be repeated after the job was cancelled and removed, and after a
// delayed write has stored the spec again.
func TestCancelAgainAfterRemove(t *testing.T) {
	for _, begun := range []bool{true, false} {
		c := newCluster(t)
		l := c.lead(plain)
		if begun {
			c.addWorker("w1").follow(l)
		}
		job := c.submit("partitions=1000")
		if begun {
			c.until("the job to run", func() bool { return c.manifest(job).State == store.Running })
		} else {
			c.until("the job to be parked", func() bool { return len(l.term.Jobs(wire.JobQuery{}).Jobs) == 1 })
		}
		cancel := func() (err error) {
			answered := false
			l.turn(func() { l.term.Cancel(job, func(e error) { answered, err = true, e }) })
			c.until("the answer", func() bool { return answered })
			return err
		}
		if err := cancel(); err != nil {
			t.Fatal(err)
		}
		c.pass(2 * hideFor)
		spec := c.get("spec/" + job)
		c.remove(job)
		c.put("spec/"+job, spec)
		if err := cancel(); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("cancelled again: %v, want ErrNotFound", err)
		}
		c.wantOnlySpec(job)
	}
}

// The answers to two writes of a cancelled job's first manifest are lost, and the job is removed
// after the first write. A submission that was not deleted from the queue may be delivered again.
func TestRemoveWhileAnswersToCancelAreLost(t *testing.T) {
	for _, queued := range []bool{true, false} {
		c := newCluster(t)
		job := c.submit("partitions=5")
		messages := c.queue.messages
		c.queue.messages = nil
		l := c.lead(plain)
		writes := 0
		c.fault = func(call memory.Call) error {
			if !call.Done || call.Operation != memory.Put || call.Key != "manifest/"+job || writes == 2 {
				return nil
			}
			if writes++; writes == 1 {
				c.remove(job)
			}
			return store.ErrUnavailable
		}
		answered := false
		l.turn(func() { l.term.Cancel(job, func(error) { answered = true }) })
		if queued {
			c.queue.messages = messages
		}
		c.until("the answer", func() bool { return answered })
		if writes != 2 {
			t.Errorf("the manifest was written %d times, want 2", writes)
		}
		c.wantNothing()
	}
}

// A submission is delivered again while its ended job is cleaned up. The leader does not add the
// job to the index again.
func TestDeliveredAgainDuringCleanUp(t *testing.T) {
	c := newCluster(t)
	entered, held, over := 0, false, false
	c.fault = func(call memory.Call) error {
		switch {
		case call.Operation == memory.Put && !call.Done:
			if strings.HasPrefix(call.Key, "active/") {
				entered++
			}
		case call.Operation == memory.Delete && !call.Done && strings.HasPrefix(call.Key, "active/") && !over:
			held = true
			c.wait(func() bool { return over })
		}
		return nil
	}
	c.addWorker("w1").follow(c.lead(plain))
	c.submit("partitions=5")
	c.until("the clean-up", func() bool { return held })
	submission := c.queue.messages[0]
	c.until("the second delivery", func() bool { return submission.deliveries == 2 })
	over = true
	c.until("empty queue and index", c.cleanedUp)
	c.pass(2 * hideFor)
	if entered != 1 || !c.cleanedUp() {
		t.Errorf("the job was entered in the index %d times, want 1", entered)
	}
}

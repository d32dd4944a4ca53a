package term_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func plain(*term.Config) {}

// rarelyCheckpointing configures a leader that rarely takes a checkpoint.
func rarelyCheckpointing(cfg *term.Config) { cfg.Ledger.CheckpointEvery = time.Hour }

func (c *cluster) submit(params ...string) string {
	c.t.Helper()
	return c.submitWith(0, params...)
}

// submitWith submits a job with a given priority.
func (c *cluster) submitWith(priority int, params ...string) string {
	c.t.Helper()
	return c.submitSpec(func(s *store.Spec) { s.Priority = priority }, params...)
}

// submitSpec submits a job after the function change has changed its spec.
func (c *cluster) submitSpec(change func(*store.Spec), params ...string) string {
	c.t.Helper()
	p, err := letters.Params(nil, params...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.submitted++
	id := store.NewID(c.now.Add(time.Duration(c.submitted) * time.Second))
	spec := store.Spec{ID: id, Job: "letters", Version: "1", Params: p, MaxAttempts: 2, Submitted: c.now.UTC()}
	change(&spec)
	if err := c.store.Submit(context.Background(), spec); err != nil {
		c.t.Fatal(err)
	}
	return id
}

// manifest reads a job's manifest. It decodes the manifest only if it has changed, because tests read it at each step.
func (c *cluster) manifest(id string) store.Manifest {
	_, version, _ := c.blobs.Get(context.Background(), "manifest/"+id)
	if read, ok := c.manifests[id]; ok && read.version == version {
		return read.manifest
	}
	m, version, _ := c.store.Manifest(context.Background(), id) // a missing manifest counts as an empty one
	c.manifests[id] = readManifest{version, m}
	return m
}

type readManifest struct {
	version  store.Version
	manifest store.Manifest
}

// cleanedUp reports whether no job is in the index or the queue.
func (c *cluster) cleanedUp() bool {
	c.t.Helper()
	active, err := c.store.Active(context.Background())
	if err != nil {
		c.t.Fatal(err)
	}
	return len(active) == 0 && len(c.queue.messages) == 0
}

func (c *cluster) partials() []string {
	c.t.Helper()
	keys, err := c.blobs.List(context.Background(), "partial/")
	if err != nil {
		c.t.Fatal(err)
	}
	return keys
}

// wantCompleted waits for the job's end and checks that its result equals that of a run in one
// process, and that each partition ran once.
func (c *cluster) wantCompleted(id, want string) {
	c.t.Helper()
	c.until("the job's end", func() bool { return c.manifest(id).State.Final() && c.cleanedUp() })
	got, err := c.store.Result(context.Background(), id, "")
	m := c.manifest(id)
	if err != nil || m.State != store.Completed || string(got) != want {
		c.t.Fatalf("job is %s: %s; result %.100s, error %v, want %.100s", m.State, m.Error, got, err, want)
	}
	ran := 0
	for _, w := range c.workers {
		ran += w.ran[id]
	}
	if uint64(ran) != m.Partitions || m.Executed != m.Partitions {
		c.t.Errorf("ran %d partitions, counted %d, want each of %d once", ran, m.Executed, m.Partitions)
	}
}

// replacements are the ways in which another leader replaces the first leader during a storage
// call.
var replacements = []struct {
	name    string
	replace func(c *cluster, first *leader, resumeCall func())
}{
	{"killed", func(c *cluster, first *leader, _ func()) {
		first.kill()
		c.lead(rarelyCheckpointing)
	}},
	{"deposed", func(c *cluster, first *leader, resumeCall func()) {
		first.depose()
		resumeCall()
		c.until("the tasks to return", first.idle)
		c.lead(plain)
	}},
	{"stopped while the call hangs", func(c *cluster, first *leader, _ func()) {
		first.turn(first.term.Stop)
		began := c.now
		c.until("the leader to leave", func() bool { _, left := first.term.Left(); return left })
		if took := c.now.Sub(began); took > stopWithin+2*step {
			c.t.Errorf("the leader took %v to leave", took)
		}
		first.kill()
		c.lead(plain)
	}},
	{"overtaken", func(c *cluster, first *leader, resumeCall func()) { // the first leader continues without noticing
		c.lead(plain)
		c.pass(10 * step)
		resumeCall()
		c.pass(2 * hideFor)
		c.until("the first leader to finish", func() bool { return first.over || first.waiting() })
		first.depose()
	}},
	{"late", func(c *cluster, first *leader, _ func()) { // the first leader continues after the job has ended
		c.lead(plain)
		c.pass(2 * hideFor)
		first.depose()
	}},
}

// idle reports whether no task is running.
func (l *leader) idle() bool { return len(l.tasks) == 0 }

// pass advances the simulated time by d.
func (c *cluster) pass(d time.Duration) {
	c.t.Helper()
	until := c.now.Add(d)
	c.until("time to pass", func() bool { return !c.now.Before(until) })
}

// holdAt holds the watched leader's storage calls at a step until over is set. It sets held when
// the step is reached.
func (c *cluster) holdAt(moment int) (held, over *bool) {
	held, over = new(bool), new(bool)
	c.hold = func(at int) func() bool {
		if at != moment {
			return nil
		}
		*held = true
		return func() bool { return *over }
	}
	return held, over
}

// run submits a job to a leader with two workers, and returns the job after it has ended and was
// cleaned up, or when ok returns true.
func (c *cluster) run(params []string, ok func() bool) (job string) {
	c.t.Helper()
	c.addWorker("w1")
	c.addWorker("w2")
	c.lead(plain)
	job = c.submit(params...)
	c.until("the end", func() bool { return ok() || c.manifest(job).State.Final() && c.cleanedUp() })
	return job
}

// localResult returns the result of running the job in one process.
func localResult(t *testing.T, params ...string) string {
	t.Helper()
	p, err := letters.Params(nil, params...)
	if err != nil {
		t.Fatal(err)
	}
	run, err := jobs.Local{Slots: 1, Attempts: 1}.Run(context.Background(), letters, p)
	if err != nil {
		t.Fatal(err)
	}
	return string(run.Result)
}

// A leader may die after it has written a partial into a blob and before a manifest names the blob.
func TestPartialOfADeadLeaderIsRemoved(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1")
	first := c.lead(plain)
	job := c.submit("partitions=8")
	c.until("the job to begin", func() bool { return c.manifest(job).State == store.Running })
	first.kill()
	if _, err := c.store.PutPartial(context.Background(), job, engine.Leaf(3), []byte("data")); err != nil {
		t.Fatal(err)
	}
	c.lead(rarelyCheckpointing)
	c.wantCompleted(job, localResult(t, "partitions=8"))
	if left := c.partials(); len(left) > 0 {
		t.Errorf("partials were left behind: %v", left)
	}
}

// TestEveryMomentOfATerm runs a job once for each step of each storage call of its leader, and for
// each way of replacing the leader at this step.
func TestEveryMomentOfATerm(t *testing.T) {
	for _, params := range [][]string{
		{"partitions=12", "pad=3_000"}, // some partials are larger than the limit of a manifest
		{"partitions=5", "pad=66_000"}, // some partials are larger than the leader's limit of partials in memory
	} {
		want := localResult(t, params...)
		c := newCluster(t)
		c.hold = func(int) func() bool { return nil }
		c.wantCompleted(c.run(params, func() bool { return false }), want)
		if c.moments < 20 {
			t.Errorf("%d moments in a term", c.moments)
		}
		for _, r := range replacements {
			for moment := 1; moment <= c.moments; moment++ {
				t.Run(fmt.Sprintf("%v/%s/%d", params, r.name, moment), func(t *testing.T) {
					t.Parallel()
					c := newCluster(t)
					held, over := c.holdAt(moment)
					resumeCall := func() { *over = true }
					job := c.run(params, func() bool { return *held })
					if !*held {
						t.Fatal("the moment did not come")
					}
					r.replace(c, c.leaders[0], resumeCall)
					c.wantCompleted(job, want)
					before := c.manifest(job)
					resumeCall()
					c.until("the tasks to return", c.leaders[0].idle)
					if after := c.manifest(job); !reflect.DeepEqual(after, before) {
						t.Errorf("the manifest was %+v, and in the end %+v", before, after)
					}
					if left := c.partials(); len(left) > 0 && r.name != "late" {
						t.Errorf("partials were left behind: %v", left)
					}
				})
			}
		}
		t.Logf("%v: %d moments", params, c.moments)
	}
}

// The manifest of an ended job contains the reasons why partitions failed, without a list of all
// failures.
func TestFinalManifestOfAFailedJob(t *testing.T) {
	c := newCluster(t)
	for _, id := range []string{"w1", "w2"} {
		c.addWorker(id).fails = "no disk"
	}
	c.lead(plain)
	job := c.submit("partitions=50")
	c.until("the end", func() bool { return c.manifest(job).State.Final() })
	m := c.manifest(job)
	if m.State != store.Failed || len(m.Attempts) > 0 {
		t.Errorf("job is %s, with the attempts of %d partitions", m.State, len(m.Attempts))
	}
	if len(m.Errors) != 1 || m.Errors[0].Text != "no disk" || m.Errors[0].Count < 2 || m.OtherErrors > 0 {
		t.Errorf("errors %+v and %d others", m.Errors, m.OtherErrors)
	}
}

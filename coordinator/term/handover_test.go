package term_test

import (
	"context"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// words is the job letters under another name.
var words = func() jobs.Job {
	d := lettersDefinition(func() {})
	d.Name = "words"
	return jobs.MustNew(d)
}()

// knowing configures a leader with other kinds of jobs.
func knowing(known ...jobs.Job) func(*term.Config) {
	return func(cfg *term.Config) {
		plain(cfg)
		cfg.Jobs = known
	}
}

func kindOf(j jobs.Job) wire.JobKind { return wire.JobKind{Name: j.Name(), Version: j.Version()} }

// A leader steps down for a worker that knows a job which the leader does not. It names
// the worker that knows most jobs as its successor.
func TestLeaderStepsDownForAWorkerThatKnowsMore(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1").knows = []wire.JobKind{kindOf(words)}
	c.addWorker("w2")
	first := c.lead(knowing(words))
	job := c.submit("partitions=8")
	successor, left := "", false
	c.until("the leader to step down", func() bool { successor, left = first.term.Left(); return left })
	if successor != "w2" {
		t.Errorf("the successor is %q, want w2", successor)
	}
	first.depose()
	c.lead(knowing(letters, words))
	c.wantCompleted(job, localResult(t, "partitions=8"))
}

// A leader does not step down while a job is active whose kind the successor would not
// know.
func TestLeaderStaysWhileASuccessorDoesNotKnowAnActiveJob(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1").knows = []wire.JobKind{kindOf(words)}
	leader := c.lead(plain)
	running := c.submit("partitions=8")
	spec := store.Spec{ID: store.NewID(c.now.Add(time.Hour)), Job: "words", Version: "1", Params: jobs.Params(`{}`), MaxAttempts: 1, Submitted: c.now.UTC()}
	if err := c.store.Submit(context.Background(), spec); err != nil {
		t.Fatal(err)
	}
	c.until("both jobs are seen", func() bool {
		return c.manifest(running).State == store.Running && c.manifest(spec.ID).State == store.Queued
	})
	c.pass(20 * time.Second)
	if _, left := leader.term.Left(); left {
		t.Error("the leader stepped down, although no successor knows the active job")
	}
	c.addWorker("w2").follow(leader)
	successor, left := "", false
	c.until("the leader to step down", func() bool { successor, left = leader.term.Left(); return left })
	if c.manifest(running).State != store.Completed || successor != "w1" {
		t.Errorf("the successor is %q, and the job is %s", successor, c.manifest(running).State)
	}
}

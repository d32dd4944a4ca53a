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

// words is letters under another name.
var words = func() jobs.Job {
	d := lettersDefinition(func() {})
	d.Name = "words"
	return jobs.MustNew(d)
}()

// knowing is a leader that knows other kinds of jobs.
func knowing(known ...jobs.Job) func(*term.Config) {
	return func(cfg *term.Config) {
		plain(cfg)
		cfg.Jobs = known
	}
}

func kindOf(j jobs.Job) wire.JobKind { return wire.JobKind{Name: j.Name(), Version: j.Version()} }

// A leader makes way for a worker that knows a job which it does not, and names the
// one that knows most.
func TestLeaderMakesWayForOneThatKnowsMore(t *testing.T) {
	s := newStage(t)
	s.hire("w1").knows = []wire.JobKind{kindOf(words)}
	s.hire("w2")
	first := s.lead(knowing(words))
	job := s.submit("partitions=8")
	successor, left := "", false
	s.until("the leader makes way", func() bool { successor, left = first.term.Left(); return left })
	if successor != "w2" {
		t.Errorf("the leader makes way for %q, want w2", successor)
	}
	first.depose()
	s.lead(knowing(letters, words))
	s.wantCompleted(job, alone(t, "partitions=8"))
}

// A leader stays as long as a job goes on that no worker knows which knows the one
// that waits.
func TestLeaderStaysWithTheJobThatGoesOn(t *testing.T) {
	s := newStage(t)
	s.hire("w1").knows = []wire.JobKind{kindOf(words)}
	leader := s.lead(plain)
	running := s.submit("partitions=8")
	spec := store.Spec{ID: store.NewID(s.now.Add(time.Hour)), Job: "words", Version: "1", Params: jobs.Params(`{}`), MaxAttempts: 1, Submitted: s.now.UTC()}
	if err := s.store.Submit(context.Background(), spec); err != nil {
		t.Fatal(err)
	}
	s.until("both jobs are seen", func() bool {
		return s.manifest(running).State == store.Running && s.manifest(spec.ID).State == store.Queued
	})
	s.pass(20 * time.Second)
	if _, left := leader.term.Left(); left {
		t.Error("the leader makes way for one that does not know the job that goes on")
	}
	s.hire("w2").follow(leader)
	successor, left := "", false
	s.until("the leader makes way", func() bool { successor, left = leader.term.Left(); return left })
	if s.manifest(running).State != store.Completed || successor != "w1" {
		t.Errorf("the leader makes way for %q while the job is %s", successor, s.manifest(running).State)
	}
}

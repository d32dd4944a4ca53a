package term_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs"
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

// A leader leads a job whose definition its program does not have: workers merge. When the
// leader stops, the worker that can merge for the job is the successor.
func TestLeaderLeadsAJobThatItDoesNotKnow(t *testing.T) {
	c := newCluster(t)
	other, able := c.addWorker("w1"), c.addWorker("w2")
	other.knows = []wire.JobKind{kindOf(words)}
	first := c.lead(knowing(words))
	job := c.submit("partitions=8", "pad=300_000") // merged partials are larger than a report holds
	c.until("a merge", func() bool { return slices.Contains(able.called, "Merge") })
	first.turn(first.term.Stop)
	successor := ""
	c.until("the leader to leave", func() (left bool) { successor, left = first.term.Left(); return left })
	if successor != "w2" {
		t.Errorf("the successor is %q, want w2", successor)
	}
	first.depose()
	c.lead(knowing(words))
	c.wantCompleted(job, localResult(t, "partitions=8"))
	if len(other.called) > 0 {
		t.Errorf("a worker that does not know the job called %v", other.called)
	}
}

// A job whose kind no worker knows is parked until a worker that knows it says hello.
func TestParkedJobBeginsWhenAWorkerKnowsIt(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1").knows = []wire.JobKind{kindOf(words)}
	leader := c.lead(plain)
	job := c.submit("partitions=8")
	var parked []wire.JobProgress
	c.until("the job to be parked", func() bool { parked = leader.term.Jobs(wire.JobQuery{}).Jobs; return len(parked) == 1 })
	c.pass(3 * hideFor)
	if !strings.Contains(parked[0].Trouble, "no worker knows letters version 1") {
		t.Errorf("the job's trouble is %q", parked[0].Trouble)
	}
	c.addWorker("w2").follow(leader)
	c.wantCompleted(job, localResult(t, "partitions=8"))
}

// If there is no place among the active jobs when a worker that knows a parked job says
// hello, the job begins once its submission is delivered again.
func TestParkedJobWaitsForAPlace(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1").knows = []wire.JobKind{kindOf(words)}
	leader := c.lead(func(cfg *term.Config) { cfg.MaxActive = 2 })
	var ids []string
	for range 6 {
		ids = append(ids, c.submit("partitions=8"))
	}
	c.until("the jobs to be parked", func() bool { return len(leader.term.Jobs(wire.JobQuery{}).Jobs) == len(ids) })
	c.addWorker("w2").follow(leader)
	for _, id := range ids {
		c.wantCompleted(id, localResult(t, "partitions=8"))
	}
}

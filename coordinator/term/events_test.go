package term_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// events is a journal in memory.
type events []string

func (e *events) Add(writer, job string, line store.JournalLine, routine bool) {
	kind := ""
	if line.Kind != "" {
		kind = fmt.Sprintf(" %s of attempt %d on host %q", line.Kind, line.Attempt, line.Host)
	}
	*e = append(*e, fmt.Sprintf("%s %s %s %s %t%s: %s", writer, job, line.Source, line.Worker, routine, kind, line.Text))
}

func (e *events) End(writer, job string) { *e = append(*e, writer+" "+job+" end") }

// TestEvents checks that the events of a job are recorded under the epoch of the leader, and that the next leader
// records that it continues.
func TestEvents(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1")
	journal := &events{}
	recording := func(cfg *term.Config) { cfg.Journal = journal }
	first := c.lead(recording)
	job := c.submit("partitions=40")
	c.until("a partition is done", func() bool { return c.workers[0].ran[job] > 0 })
	first.kill()
	c.lead(recording)
	c.wantCompleted(job, localResult(t, "partitions=40"))
	e1, e2 := store.LeaderJournal(1)+" "+job, store.LeaderJournal(2)+" "+job
	all := strings.Join(*journal, "\n") + "\n"
	for _, want := range []string{
		e1 + " event  true: Job planned, 40 partitions\n",
		e1 + " event w1 true: First assigned: partition",
		e2 + " event leader-2 false: Leader of epoch 2 continues the job",
		e2 + " end\n",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the events are\n%s\nwant %q", all, want)
		}
	}
}

// TestFailureEvents checks that attempts that fail are recorded with partition and attempt, and written also if the job
// ends at once.
func TestFailureEvents(t *testing.T) {
	c := newCluster(t)
	w := c.addWorker("w1")
	w.fails = "no disk"
	journal := &events{}
	c.lead(func(cfg *term.Config) { cfg.Journal = journal })
	id := c.submit("partitions=1")
	c.until("the failure", func() bool { return c.manifest(id).State == store.Failed })
	all := strings.Join(*journal, "\n") + "\n"
	for attempt := range 2 {
		want := fmt.Sprintf("%s event w1 false failure of attempt %d on host %q: Partition 0 failed, attempt %d of 2: no disk\n", id, attempt+1, "", attempt+1)
		if !strings.Contains(all, want) {
			t.Errorf("the events are\n%s\nwant %q", all, want)
		}
	}
}

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
	*e = append(*e, fmt.Sprintf("%s %s %s %s %t: %s", writer, job, line.Source, line.Worker, routine, line.Text))
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

package term

import (
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// record records an event of a job. The events of this leader form pages of their own in the job's journal.
func (t *Term) record(job, worker, text string, routine bool) {
	t.recordLine(job, store.JournalLine{Worker: worker, Text: text}, routine)
}

func (t *Term) recordLine(job string, line store.JournalLine, routine bool) {
	line.At, line.Source = t.env.Now().UTC(), store.FromLeader
	t.cfg.Journal.Add(store.LeaderJournal(t.leadership.Epoch), job, line, routine)
}

// recordResumed records that this leader continues a job. What the last leader had is unknown if it died, so this is
// also the event of its death.
func (t *Term) recordResumed(j *activeJob, epochs []uint64) {
	text := fmt.Sprintf("Leader of epoch %d continues the job, resumed with %d finished partitions", t.leadership.Epoch, doneIn(j.manifest.last))
	if t.leadership.Cause.Crashed() {
		text += fmt.Sprintf("; the leader of epoch %d died", epochs[len(epochs)-2])
	}
	t.record(j.spec.ID, t.cfg.Worker, text, false)
}

// endRecord says that no more events of a job follow. Its end is in its manifest.
func (t *Term) endRecord(id string) { t.cfg.Journal.End(store.LeaderJournal(t.leadership.Epoch), id) }

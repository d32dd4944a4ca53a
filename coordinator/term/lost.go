package term

import (
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// This file finds submitted jobs whose messages are lost: the queue was cleared or damaged, or the
// submitter died between the write of the spec and the message.

// lostMessages is the state of the search for jobs without a message. The queue cannot be listed.
// A job therefore counts as lost if two searches in a row find it without a manifest although the
// leader could receive all messages between the two searches.
type lostMessages struct {
	searching bool
	searched  time.Time      // time of the last search
	missing   map[string]int // jobs that the last search found and that were not received since; the value is the number of pieces of their files
}

// searchLost searches for jobs without a message, at Config.SearchEvery.
func (t *Term) searchLost() {
	l := &t.lost
	switch {
	case t.ledger == nil || !t.ledger.Recovered() || l.searching:
	case !t.mayReceive(): // messages stay in the queue, so nothing can be concluded
		l.missing = nil
	case t.since(l.searched) >= t.cfg.SearchEvery:
		l.searching, l.searched = true, t.env.Now()
		known := map[string]bool{}
		for id := range t.jobs.pending {
			known[id] = true
		}
		for id := range t.jobs.parked {
			known[id] = true
		}
		t.spawn(func() func() {
			found, err := t.cfg.Store.Unbegun(t.ctx, func(id string) bool { return known[id] }, maxWaiting)
			if err != nil && t.ctx.Err() == nil {
				t.log.Warn("Could not search for jobs without a message", "error", err)
			}
			return func() { t.resendLost(found) }
		})
	}
}

// resendLost sends the messages of the jobs that the last search has found too. The files of a job
// that is being submitted grow from one search to the next.
func (t *Term) resendLost(found []store.Unbegun) {
	before := t.lost.missing
	t.lost.missing = map[string]int{}
	var lost []string
	for _, f := range found {
		if t.jobs.active[f.ID] != nil || t.jobs.pending[f.ID] != nil || t.ledger.Ended(f.ID) {
			continue
		}
		t.lost.missing[f.ID] = f.Files
		if files, again := before[f.ID]; again && files == f.Files {
			lost = append(lost, f.ID)
		}
	}
	t.spawn(func() func() {
		for _, id := range lost {
			err := t.cfg.Store.Resend(t.ctx, id)
			switch {
			case t.ctx.Err() != nil:
				return nil
			case err != nil:
				t.log.Warn("Could not send the lost message of a job again", "job", id, "error", err)
			default:
				t.log.Warn("The queue has lost the message of a job, sent again", "job", id)
			}
		}
		return func() { t.lost.searching = false }
	})
}

// lostProgress returns the progress of a job whose message seems lost.
func (t *Term) lostProgress(id string) wire.JobProgress {
	return wire.JobProgress{Job: id, State: string(store.Queued), Trouble: fmt.Sprintf(
		"the leader has not received the job's message from the queue; if it is lost, the leader sends it again within %v", t.cfg.SearchEvery)}
}

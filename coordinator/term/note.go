package term

import (
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
)

const (
	// notesPerJob is how many notes about one job are logged within noteWindow. A
	// job whose partitions all fail has one for each of them, and the first say it
	// all.
	notesPerJob = 20
	noteWindow  = time.Minute
)

// noteCount is how many notes about a job have come within a window.
type noteCount struct {
	since   time.Time
	count   int
	skipped int // of them, and not logged
}

// admit reports whether one more note is to be logged, and how many before it
// were not.
func (c *noteCount) admit(now time.Time) (skipped int, ok bool) {
	if now.Sub(c.since) >= noteWindow {
		skipped = c.skipped
		*c = noteCount{since: now}
	}
	c.count++
	if c.count > notesPerJob {
		c.skipped++
		return 0, false
	}
	return skipped, true
}

// logNote logs what the ledger tells people.
func (t *Term) logNote(n ledger.Log) {
	text, _, _ := strings.Cut(n.Text, "\n") // the stack of a panic is in its worker's log
	var attrs []any
	if n.Job != "" {
		attrs = append(attrs, "job", n.Job)
	}
	if n.Worker != "" {
		attrs = append(attrs, "worker", n.Worker)
	}
	if j := t.jobs[n.Job]; j != nil {
		skipped, ok := j.notes.admit(t.env.Now())
		if !ok {
			t.log.Debug(text, attrs...)
			return
		}
		if skipped > 0 {
			attrs = append(attrs, "unlogged", skipped)
		}
	}
	t.log.Info(text, attrs...)
}

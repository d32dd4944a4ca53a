package term

import (
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

const (
	// maxLinesPerJob is the largest number of log lines at level Info about one job within
	// throttleWindow. Without the limit, a job whose partitions all fail would cause a log line for
	// each partition.
	maxLinesPerJob = 20
	throttleWindow = time.Minute
)

// logThrottle counts the log lines about a job within a time window.
type logThrottle struct {
	since   time.Time
	lines   int
	dropped int
}

// allow reports whether one more line may be logged, and returns how many lines of the previous window were
// dropped.
func (l *logThrottle) allow(now time.Time) (dropped int, ok bool) {
	if now.Sub(l.since) >= throttleWindow {
		dropped = l.dropped
		*l = logThrottle{since: now}
	}
	l.lines++
	if l.lines > maxLinesPerJob {
		l.dropped++
		return 0, false
	}
	return dropped, true
}

// logDecision logs a decision of the ledger, and records it as an event of its job.
func (t *Term) logDecision(l ledger.Log) {
	l.Job = engine.JobOf(l.Job)
	if l.Job != "" {
		d := l.Details
		t.recordLine(l.Job, store.JournalLine{Worker: l.Worker, Text: l.Text, Kind: d.Kind, Partition: d.Partition, Attempt: d.Attempt, Host: d.Host}, l.Event && d.Kind == "")
	}
	if l.Event {
		return
	}
	text, _, _ := strings.Cut(l.Text, "\n") // omit a panic's stack, which is in the worker's log
	var attrs []any
	if l.Job != "" {
		attrs = append(attrs, "job", l.Job)
	}
	if l.Worker != "" {
		attrs = append(attrs, "worker", l.Worker)
	}
	if j := t.jobs.active[l.Job]; j != nil {
		dropped, ok := j.throttle.allow(t.env.Now())
		if !ok {
			t.log.Debug(text, attrs...)
			return
		}
		if dropped > 0 {
			attrs = append(attrs, "unlogged", dropped)
		}
	}
	t.log.Info(text, attrs...)
}

package ledger

import (
	"fmt"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

const (
	// A worker is benched if benchAfter partitions failed on it and then ran on other workers, while the
	// worker itself finished no partition.
	benchAfter = 5
	// benchFor is the time for which a worker is benched. It doubles with each time, up to
	// benchAtMost. Then the worker gets one partition as a probe.
	benchFor    = 10 * time.Second
	benchAtMost = time.Minute
)

// workerBlame counts the failures for which a worker is to blame. A partition that fails on every worker, or
// fails on a worker that finishes others, is the fault of its job and blames no worker.
type workerBlame struct {
	failures int           // number of partitions that failed on the worker and ran on others since the worker last finished one
	error    string        // error of the worker's last failed attempt
	reason   string        // why and for how long the worker was benched
	benches  int           // number of times that the worker was benched since it last finished a partition
	until    time.Duration // time until which the worker is benched
}

// ran handles the partitions of a span that a worker has finished. It blames the workers on which these
// partitions failed last.
func (l *Ledger) ran(w *worker, j *job, span engine.Span) {
	w.blame.failures, w.blame.benches = 0, 0
	for f := range j.queue.failed.in(span) {
		if o := l.worker(f.avoidWorker); o != nil && o != w {
			if o.blame.failures++; o.blame.failures >= benchAfter {
				l.bench(o)
			}
		}
	}
}

// bench takes all partitions from a worker and gives it none for some time.
func (l *Ledger) bench(w *worker) {
	if w.benched(l.now) {
		return
	}
	b := &w.blame
	b.until = l.now + min(benchFor<<min(b.benches, 3), benchAtMost)
	b.benches++
	b.reason = fmt.Sprintf("for %v, partitions that failed only on this worker: %d, last: %s", b.until-l.now, b.failures, b.error)
	l.log("", w.id, "Worker benched %s", b.reason)
	for _, a := range w.assignments {
		if a.call == nil {
			a.cutAt(0, nil)
		}
	}
}

// firstBytes shortens an error for the status of a worker.
func firstBytes(text string) string {
	const most = 200
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// benched reports whether a worker gets no partitions because of its failures.
func (w *worker) benched(now time.Duration) bool { return now < w.blame.until && w.blame.benches > 0 }

// probes reports whether a worker was benched and has not finished a partition since.
func (w *worker) probes() bool { return w.blame.benches > 0 }

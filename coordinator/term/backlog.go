package term

import (
	"maps"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// backlog contains the messages that arrive before the active jobs are loaded. A message that does
// not fit into the backlog is dropped, and its sender repeats it.
type backlog struct {
	reports map[string]queuedReport // the last report of each worker
	bytes   int                     // total size of the reports in bytes
	cancels []queuedCancel
}

type queuedReport struct {
	report wire.Report
	size   int // size of the report's message in bytes
	reply  func(wire.Receipt)
}

type queuedCancel struct {
	job    string
	answer func(error)
}

const (
	maxBacklog      = 10_000    // maximum number of cancellations, and of reports if no more workers are admitted
	maxBacklogBytes = 512 << 20 // maximum size in bytes of all reports in the backlog
)

// addReport queues a worker's report, and removes the worker's previous report from the queue. The parameter maxWorkers
// is the number of workers that the leader admits.
func (b *backlog) addReport(r queuedReport, maxWorkers int) {
	worker := r.report.Worker
	previous, replaces := b.reports[worker]
	bytes := b.bytes - previous.size + r.size
	if !replaces && len(b.reports) >= max(maxBacklog, maxWorkers) || bytes > maxBacklogBytes {
		return
	}
	if b.reports == nil {
		b.reports = map[string]queuedReport{}
	}
	b.reports[worker], b.bytes = r, bytes
}

func (b *backlog) addCancel(c queuedCancel) {
	if len(b.cancels) < maxBacklog {
		b.cancels = append(b.cancels, c)
	}
}

// processBacklog processes the messages that arrived while the active jobs were being loaded.
func (t *Term) processBacklog() {
	b := t.backlog
	t.backlog = backlog{}
	for _, worker := range slices.Sorted(maps.Keys(b.reports)) {
		r := b.reports[worker]
		t.Report(r.report, r.size, r.reply)
	}
	for _, c := range b.cancels {
		t.Cancel(c.job, c.answer)
	}
}

package term

import (
	"maps"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// early is what was heard while the active jobs were loaded. What does not fit
// is sent again.
type early struct {
	reports map[string]reporting // the last one of each worker
	bytes   int
	cancels []cancelling
}

// reporting is a report and the way to answer it.
type reporting struct {
	report  wire.Report
	size    int
	respond func(wire.Receipt)
}

// cancelling is a job to cancel and who waits for that.
type cancelling struct {
	job    string
	answer func(error)
}

const (
	maxEarly      = 10_000    // of each kind
	maxEarlyBytes = 512 << 20 // of reports
)

// keepReport keeps a worker's report in place of an earlier one.
func (e *early) keepReport(in reporting) {
	worker := in.report.Worker
	before, again := e.reports[worker]
	bytes := e.bytes - before.size + in.size
	if !again && len(e.reports) == maxEarly || bytes > maxEarlyBytes {
		return
	}
	if e.reports == nil {
		e.reports = map[string]reporting{}
	}
	e.reports[worker], e.bytes = in, bytes
}

func (e *early) keepCancel(in cancelling) {
	if len(e.cancels) < maxEarly {
		e.cancels = append(e.cancels, in)
	}
}

// takeIn takes in what came early.
func (t *Term) takeIn(e early) {
	for _, worker := range slices.Sorted(maps.Keys(e.reports)) {
		in := e.reports[worker]
		t.Report(in.report, in.size, in.respond)
	}
	for _, in := range e.cancels {
		t.Cancel(in.job, in.answer)
	}
}

package executor

import (
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// BenchmarkEmptyPartitions runs empty partitions through one slot until the leader has all of them.
// One operation of the benchmark is a partition.
func BenchmarkEmptyPartitions(b *testing.B) {
	nc := connect(b, startServer(b, -1).ClientURL())
	job := sum("sum", nil)
	startWorker(b, nc, noStore{b}, 1, []jobs.Job{job}, nil)
	l := startLeader(b, nc, 1)
	l.durable = true
	l.wait("the worker", func() bool { return len(l.reports) > 0 })
	b.ResetTimer()
	n := uint64(b.N)
	id := l.assign("j", job, 0, n, all(n))
	l.wait("everything", func() bool { _, held := l.held(id); return !held && l.has("j", n, all(n)) })
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "partitions/s")
}

// BenchmarkEmptySpans runs many spans of one empty partition each, as at the end of a job. One
// operation of the benchmark is a span.
func BenchmarkEmptySpans(b *testing.B) {
	nc := connect(b, startServer(b, -1).ClientURL())
	job := sum("sum", nil)
	startWorker(b, nc, noStore{b}, 1, []jobs.Job{job}, nil)
	l := startLeader(b, nc, 1)
	l.durable = true
	l.wait("the worker", func() bool { return len(l.reports) > 0 })
	b.ResetTimer()
	n := uint64(b.N)
	const batch = 1000
	for lo := uint64(0); lo < n; lo += batch {
		hi := min(lo+batch, n)
		var spans []engine.Span
		for p := lo; p < hi; p++ {
			spans = append(spans, engine.Span{Lo: p, Hi: p + 1})
		}
		l.assign("j", job, 0, n, spans...)
		l.wait("the batch", func() bool { return uint64(len(l.nodes["j"])) == hi })
	}
}

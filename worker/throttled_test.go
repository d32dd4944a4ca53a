package worker_test

import (
	"context"
	"io"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/scan"
	"github.com/bellwether-compute/bellwether/worker"
)

// throttling is a driver whose storage throttles the first requests.
type throttling struct{ left atomic.Int64 }

const throttledText = "x\n1\n2\n"

func (d *throttling) List(_ context.Context, pattern string) iter.Seq2[source.Object, error] {
	return func(yield func(source.Object, error) bool) {
		yield(source.Object{Name: pattern, Size: int64(len(throttledText)), Tag: "1"}, nil)
	}
}

func (d *throttling) Read(_ context.Context, _ source.Object, from, to int64) (io.ReadCloser, error) {
	if d.left.Add(-1) >= 0 {
		return nil, &source.Throttled{Status: 503}
	}
	return io.NopCloser(strings.NewReader(throttledText[from:to])), nil
}

// TestThrottledReads checks that a worker counts throttled requests, logs them once, and fails no partition for them.
func TestThrottledReads(t *testing.T) {
	t.Parallel()
	const refused = 9 // more than a read is retried after other errors
	d := &throttling{}
	d.left.Store(refused)
	job := jobs.MustNew(scan.Definition)
	grant := jobs.Grant{Sources: []source.Source{{Schemes: []string{"slow://"}, Open: func(context.Context) (source.Driver, error) { return d, nil }}}}
	c := newCluster(t)
	w := c.start(func(cfg *worker.Config) { cfg.Jobs, cfg.Grant = []jobs.Job{job}, grant })
	if got := c.result(job, "input=slow://a.csv", "aggregate=sum(x)"); !strings.Contains(got, `"3"`) {
		t.Errorf("got %s, want the sum 3", got)
	}
	if n := w.metric("source_requests_throttled_total"); n != refused {
		t.Errorf("the metric counts %v throttled requests, want %d", n, refused)
	}
	w.logged(`level=WARN msg="Storage throttles jobs.*" self=\S+ account=slow`)
	if n := strings.Count(w.log.String(), "Storage throttles jobs"); n != 1 {
		t.Errorf("the log has %d lines about throttling, want 1", n)
	}
}

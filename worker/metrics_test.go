package worker_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/bellwether-compute/bellwether/worker"
)

var updateMetrics = flag.Bool("update-metrics", false, "rewrite testdata/metrics.txt")

// leaderMetrics are the metrics that only the leader exports.
var leaderMetrics = []string{
	"bellwether_jobs", "bellwether_workers", "bellwether_workers_desired",
	"bellwether_checkpoint_bytes", "bellwether_checkpoint_age_seconds",
}

// TestMetrics scrapes a worker that leads and runs a job, and a follower.
func TestMetrics(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	leader := c.start(nil)
	leader.awaitReady()
	id := c.submit("partitions=40", "sleep=5ms", "hold=true")
	until(t, "the leader's figures show the running job", func() bool {
		families := scrape(t, leader.address())
		jobs := families["bellwether_jobs"]
		return jobs != nil && value(t, jobs, "state", "running") == 1 && value(t, families["bellwether_slots_busy"]) == 1
	})
	m := c.finish(id, "partitions=40")
	follower := c.start(nil)
	follower.awaitReady()

	var families map[string]*dto.MetricFamily
	until(t, "the leader's figures show two workers and no job", func() bool {
		families = scrape(t, leader.address())
		return value(t, families["bellwether_workers"]) == 2 && value(t, families["bellwether_workers_desired"]) == 0
	})
	for _, want := range []struct {
		name   string
		labels []string
		value  float64
	}{
		{"bellwether_partitions_done_total", nil, 40},
		{"bellwether_partitions_repeated_total", nil, float64(m.Executed - 40)},
		{"bellwether_takeovers_total", []string{"cause", "first"}, 1},
		{"bellwether_takeovers_total", []string{"cause", "died"}, 0},
		{"bellwether_is_leader", nil, 1},
		{"bellwether_epoch", nil, 1},
		{"bellwether_slots", nil, 1},
		{"bellwether_slots_busy", nil, 0},
		{"bellwether_spans_queued", nil, 0},
		{"bellwether_jobs", []string{"state", "running"}, 0},
		{"bellwether_nats_reconnects_total", nil, 0},
	} {
		if n := value(t, families[want.name], want.labels...); n != want.value {
			t.Errorf("%s%v: got %v, want %v", want.name, want.labels, n, want.value)
		}
	}
	late := strings.Contains(leader.log.String(), "context deadline exceeded") // the storage had too little of the processor
	if n := value(t, families["bellwether_storage_calls_total"], "call", "put", "outcome", "error"); n != 0 && !late && !c.stalled() {
		t.Errorf("%v puts failed, want 0", n)
	}
	for _, some := range []struct {
		name   string
		labels []string
	}{
		{"bellwether_report_duration_seconds", nil},
		{"bellwether_checkpoint_duration_seconds", nil},
		{"bellwether_takeover_duration_seconds", []string{"phase", "fence"}},
		{"bellwether_takeover_duration_seconds", []string{"phase", "first_result"}},
		{"bellwether_checkpoint_bytes", nil},
		{"bellwether_storage_calls_total", []string{"call", "put", "outcome", "ok"}},
		{"bellwether_storage_calls_total", []string{"call", "lease_acquire", "outcome", "ok"}},
	} {
		if value(t, families[some.name], some.labels...) <= 0 {
			t.Errorf("%s%v is not above 0", some.name, some.labels)
		}
	}
	checkGolden(t, families)

	until(t, "the follower has pinged the leader", func() bool {
		families = scrape(t, follower.address())
		return value(t, families["bellwether_ping_duration_seconds"]) > 0
	})
	for _, name := range leaderMetrics {
		if families[name] != nil {
			t.Errorf("a follower shows %s", name)
		}
	}
	if n := value(t, families["bellwether_is_leader"]); n != 0 {
		t.Errorf("bellwether_is_leader of a follower: got %v, want 0", n)
	}
}

// TestHeldPartialMetrics scrapes a worker that holds large partials, and again while the worker
// drains.
func TestHeldPartialMetrics(t *testing.T) {
	t.Parallel()
	c := vectorCluster(t)
	const limit, size = 1 << 30, 800_000
	w := c.start(func(cfg *worker.Config) { cfg.Memory = limit })
	w.awaitReady()
	for name, want := range map[string]float64{
		"held_partial_bytes": 0, "spilled_partial_bytes": 0, "memory_used_bytes": 0, "cached_bytes": 0, "memory_limit_bytes": limit, "memory_short": 0,
		"partials_spilled_total": 0, "partials_stored_total": 0, "assigned_merge_duration_seconds": 0,
	} {
		if got := w.metric(name); got != want {
			t.Errorf("%s before the job: got %v, want %v", name, got, want)
		}
	}
	id := c.submit("partitions=32", "sleep=5ms", "hold=true")
	until(t, "the last partition waits, and the worker has merged partials", func() bool {
		return c.runs.Load() == 32 && w.metric("assigned_merge_duration_seconds") > 0
	})
	if held, used := w.metric("held_partial_bytes"), w.metric("memory_used_bytes"); held < size || used < held+size {
		t.Errorf("%v bytes are held and %v bytes of memory are used, want at least one partial of %v bytes, and the memory of the waiting partition", held, used, size)
	}
	if n := w.metric("memory_short"); n != 0 {
		t.Errorf("memory_short: got %v, want 0", n)
	}
	w.stop()
	until(t, "the draining worker has written partials to storage", func() bool { return w.metric("partials_stored_total") > 0 })
	c.start(nil)
	c.finish(id, "partitions=32")
}

// TestSpilledPartialMetrics scrapes a worker whose memory has space for only one partial.
func TestSpilledPartialMetrics(t *testing.T) {
	t.Parallel()
	c := vectorCluster(t)
	const size = 40_000_000
	dir := t.TempDir()
	w := c.start(func(cfg *worker.Config) { cfg.Memory, cfg.SpillDir = 64<<20, dir })
	w.awaitReady()
	id := c.submit("partitions=4", "length=5000000", "hold=true")
	until(t, "the last partition waits, and partials are in files", func() bool {
		return c.runs.Load() == 4 && w.metric("spilled_partial_bytes") >= size
	})
	if n := w.metric("partials_spilled_total"); n < 1 {
		t.Errorf("partials_spilled_total: got %v, want at least 1", n)
	}
	if n := w.metric("memory_short"); n != 1 {
		t.Errorf("memory_short: got %v, want 1", n)
	}
	c.finish(id, "partitions=4", "length=5000000")
	until(t, "the worker holds nothing", func() bool { return w.metric("spilled_partial_bytes") == 0 && w.metric("memory_used_bytes") == 0 })
}

// metric scrapes a worker, and returns a metric's value or number of observations.
func (w *testWorker) metric(name string) float64 {
	w.t.Helper()
	return value(w.t, scrape(w.t, w.address())["bellwether_"+name])
}

// scrape reads a worker's metrics like Prometheus, and lints them.
func scrape(t *testing.T, address string) map[string]*dto.MetricFamily {
	t.Helper()
	answer, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("metrics: status %d, %v", answer.StatusCode, err)
	}
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "bellwether_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// value returns a metric's value, which for a histogram is the number of observations. The
// parameter labels alternates names and values.
func value(t *testing.T, family *dto.MetricFamily, labels ...string) float64 {
	t.Helper()
	for _, m := range family.GetMetric() {
		var has []string
		for _, l := range m.GetLabel() {
			has = append(has, l.GetName(), l.GetValue())
		}
		if !slices.Equal(has, labels) {
			continue
		}
		switch family.GetType() {
		case dto.MetricType_COUNTER:
			return m.GetCounter().GetValue()
		case dto.MetricType_HISTOGRAM:
			return float64(m.GetHistogram().GetSampleCount())
		default:
			return m.GetGauge().GetValue()
		}
	}
	t.Errorf("%s%v is missing", family.GetName(), labels)
	return -1
}

// checkGolden compares the metrics with the list in testdata, against which dashboards and alerts
// are checked. Each line of the list has a metric's name, type and help.
func checkGolden(t *testing.T, families map[string]*dto.MetricFamily) {
	t.Helper()
	const golden = "testdata/metrics.txt"
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if strings.HasPrefix(name, "bellwether_") {
			family := families[name]
			fmt.Fprintln(&text, name, strings.ToLower(family.GetType().String()), family.GetHelp())
		}
	}
	if *updateMetrics {
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if text.String() != string(want) {
		t.Errorf("the metrics differ from %s (-update-metrics rewrites it):\n%s", golden, text.String())
	}
}

// TestHostOfHealthAndMetrics requests the worker's paths under a name that another site may own.
func TestHostOfHealthAndMetrics(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	w := c.start(nil)
	w.awaitReady() // a NATS server that stops while it creates a stream leaves a goroutine behind
	address := w.address()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, path := range []string{"/metrics", "/healthz", "/readyz"} {
		for host, want := range map[string]bool{"": true, "worker": true, "attacker.example": false} {
			request, err := http.NewRequest(http.MethodGet, "http://"+address+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Host = host
			answer, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			if allowed := answer.StatusCode != http.StatusForbidden; allowed != want {
				t.Errorf("%s of host %q: status %d, allowed %v, want %v", path, host, answer.StatusCode, allowed, want)
			}
		}
	}
}

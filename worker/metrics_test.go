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
		{"bellwether_storage_calls_total", []string{"call", "put", "outcome", "error"}, 0},
	} {
		if n := value(t, families[want.name], want.labels...); n != want.value {
			t.Errorf("%s%v: got %v, want %v", want.name, want.labels, n, want.value)
		}
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

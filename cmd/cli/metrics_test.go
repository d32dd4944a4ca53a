package cli_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

var updateMetrics = flag.Bool("update-metrics", false, "rewrite testdata/metrics.txt")

// leadersMetrics are those that the leader alone shows.
var leadersMetrics = []string{
	"bellwether_jobs", "bellwether_workers", "bellwether_workers_desired",
	"bellwether_checkpoint_bytes", "bellwether_checkpoint_age_seconds",
}

// TestMetrics scrapes a worker that leads and does a job, and one that only
// follows.
func TestMetrics(t *testing.T) {
	t.Parallel()
	f := newTestFlock(t, onJetStream, 0)
	start := func() (address string) {
		output := newTestOutput(t)
		startWorker(t, output, "--nats", f.url, "--cluster", f.cluster)
		return output.await(servingLine)
	}
	leads := start()
	f.awaitWorkers(1)
	id := f.submit("n=400", "width=1", "sleep=5ms")
	f.awaitDone(id, 1)
	if n := value(t, scrape(t, leads)["bellwether_slots_busy"]); n != 1 {
		t.Errorf("while a job runs, %v of 1 slot is busy", n)
	}
	f.until("the leader's figures show the job", func() bool {
		family := scrape(t, leads)["bellwether_jobs"]
		return family != nil && value(t, family, "state", "running") == 1
	})
	got := f.finish(id, "n=400", "width=1", "sleep=5ms")
	follows := start()
	f.awaitWorkers(2)

	var families map[string]*dto.MetricFamily
	f.until("the leader's figures show two workers and no job", func() bool {
		families = scrape(t, leads)
		return value(t, families["bellwether_workers"]) == 2 && value(t, families["bellwether_workers_desired"]) == 0
	})
	for _, want := range []struct {
		name   string
		labels []string
		value  float64
	}{
		{"bellwether_partitions_done_total", nil, float64(got.Partitions)},
		{"bellwether_partitions_repeated_total", nil, float64(got.Repeated)},
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

	families = scrape(t, follows)
	for _, name := range leadersMetrics {
		if families[name] != nil {
			t.Errorf("a follower shows %s", name)
		}
	}
	if n := value(t, families["bellwether_is_leader"]); n != 0 {
		t.Errorf("a follower says that it leads: %v", n)
	}
}

// scrape reads a worker's metrics as Prometheus does, and has them linted.
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

// value is a metric's value, and of a histogram the number of its observations.
// Labels are names and values in turn.
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
	t.Errorf("%s%v is not there", family.GetName(), labels)
	return -1
}

// checkGolden compares what there is with the list of it that dashboards and
// alerts are held against: a line has a metric's name, its type and its help.
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
		t.Errorf("the metrics are not those of %s (-update-metrics rewrites it):\n%s", golden, text.String())
	}
}

// servingLine says where a worker serves its metrics.
var servingLine = regexp.MustCompile(`msg="Serving health and metrics".* address=(\S+)`)

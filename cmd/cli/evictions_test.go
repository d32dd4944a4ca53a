package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bellwether-compute/bellwether/cmd/cli/imds"
)

// testMetadata stands in for Azure's metadata service.
type testMetadata struct {
	*httptest.Server
	mu       sync.Mutex
	events   []imds.Event
	approved []string
}

func startMetadata(t *testing.T, machine string) *testMetadata {
	m := &testMetadata{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if r.Header.Get("Metadata") != "true" || r.URL.Query().Get("api-version") == "" {
			http.Error(w, "no Metadata header or version", http.StatusBadRequest)
			return
		}
		switch r.Method + " " + r.URL.Path {
		case "GET /metadata/instance/compute/name":
			_, _ = io.WriteString(w, machine)
		case "GET /metadata/scheduledevents":
			_ = json.NewEncoder(w).Encode(map[string]any{"DocumentIncarnation": 1, "Events": m.events})
		case "POST /metadata/scheduledevents":
			var body struct{ StartRequests []struct{ EventId string } }
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			for _, s := range body.StartRequests {
				m.approved = append(m.approved, s.EventId)
			}
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *testMetadata) announce(events ...imds.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = events
}

func (m *testMetadata) approvals() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.approved)
}

// TestEviction has Azure take the leader's machine away in the middle of a job. What
// happens to other machines, and standing still, is no reason to stop.
func TestEviction(t *testing.T) {
	t.Parallel()
	f := newTestFlock(t, onJetStream, 0)
	service := startMetadata(t, "flock_1")
	output := newTestOutput(t)
	doomed := startWorker(t, output, "--nats", f.url, "--cluster", f.cluster, "--watch-evictions", "--metadata-url", service.URL)
	f.awaitWorkers(1)
	output.await(regexp.MustCompile(`(msg="Watching for evictions")`))
	id := f.submitHeld(jobParams...)
	if _, err := f.Start(); err != nil {
		t.Fatal(err)
	}
	f.awaitWorkers(2)
	f.awaitDone(id, 1)
	service.announce(
		imds.Event{ID: "other", Type: "Preempt", Resources: []string{"flock_2"}, Status: "Scheduled"},
		imds.Event{ID: "pause", Type: "Freeze", Resources: []string{"flock_1"}, Status: "Scheduled"},
	)
	f.awaitDone(id, partitions/2)
	if leader := f.leader(); leader.PID != doomed.Process.Pid {
		t.Errorf("process %d leads, want %d: it has stopped without a reason", leader.PID, doomed.Process.Pid)
	}
	service.announce(imds.Event{ID: "end", Type: "Preempt", Resources: []string{"FLOCK_1"}, Status: "Scheduled", NotBefore: "Mon, 11 Apr 2022 22:26:58 GMT"})
	if err := doomed.Wait(); err != nil {
		t.Errorf("the worker whose machine is taken away ended with %v", err)
	}
	if approved := service.approvals(); !slices.Equal(approved, []string{"end"}) {
		t.Errorf("approved of %v, want of the eviction alone", approved)
	}
	got := f.finish(id, jobParams...)
	if n := f.repeatedBy(); n > 2 || got.Repeated > 2 {
		t.Errorf("%d partitions were executed twice (%d reported), want at most 2 at the job's end", n, got.Repeated)
	}
	f.awaitChange("handover")
}

// TestEvictionsOutsideOfAzure: a worker says once that nobody answers, or somebody
// else does, and works.
func TestEvictionsOutsideOfAzure(t *testing.T) {
	t.Parallel()
	stranger := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(stranger.Close)
	f := newTestFlock(t, onJetStream, 0)
	for _, url := range []string{"http://127.0.0.1:1", stranger.URL} {
		output := newTestOutput(t)
		worker := startWorker(t, output, "--nats", f.url, "--cluster", f.cluster, "--watch-evictions", "--metadata-url", url)
		output.await(regexp.MustCompile(`(msg="Evictions cannot be watched)`))
		f.awaitWorkers(1)
		stopWorker(t, worker)
		if n := strings.Count(output.String(), "Evictions"); n != 1 {
			t.Errorf("%s: evictions are spoken of in %d lines, want 1", url, n)
		}
	}
}

package worker_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/worker"
	"github.com/bellwether-compute/bellwether/worker/internal/imds"
)

// testMetadata is a fake of Azure's metadata service.
type testMetadata struct {
	*httptest.Server
	polls    atomic.Int64 // number of requests for events
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
			m.polls.Add(1)
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

// TestEviction announces events to the leader in the middle of a job. The leader continues when
// other machines are evicted and when its own machine freezes. When the leader's machine is
// evicted, the leader stops, hands over, and approves the event.
func TestEviction(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	service := startMetadata(t, "vmss_1")
	evicted := c.start(func(cfg *worker.Config) { cfg.WatchEvictions, cfg.MetadataURL = true, service.URL })
	evicted.awaitReady()
	evicted.logged(`msg="(Watching for evictions)" .*machine=vmss_1`)
	const partitions = 400
	params := []string{"partitions=400", "sleep=10ms", "hold=true"}
	id := c.submit(params...)
	c.start(nil).awaitReady()
	service.announce(
		imds.Event{ID: "other", Type: "Preempt", Resources: []string{"vmss_2"}, Status: "Scheduled"},
		imds.Event{ID: "pause", Type: "Freeze", Resources: []string{"vmss_1"}, Status: "Scheduled"},
	)
	polls := service.polls.Load()
	until(t, "the worker has seen the events", func() bool { return service.polls.Load() >= polls+2 })
	c.checkpoint(id, "some partitions are done", func(m store.Manifest) bool { return m.Executed > 0 })
	if _, h := getHealth(t, evicted.address(), "/readyz"); !h.Leads {
		t.Fatalf("the leader stopped leading for an event that does not end its machine: %+v", h)
	}
	service.announce(imds.Event{ID: "end", Type: "Preempt", Resources: []string{"VMSS_1"}, Status: "Scheduled", NotBefore: "Mon, 11 Apr 2022 22:26:58 GMT"})
	evicted.await()
	evicted.logged(`msg="(Stopping gracefully)" .*reason="eviction announced by Azure: Preempt, not before Mon, 11 Apr 2022 22:26:58 GMT"`)
	if approved := service.approvals(); !slices.Equal(approved, []string{"end"}) {
		t.Errorf("approved %v, want the eviction alone", approved)
	}
	if m := c.finish(id, params...); m.Executed > partitions+2 { // a job may run a partition twice at its end
		t.Errorf("executed %d partitions of %d", m.Executed, partitions)
	}
	if got, want := c.causes(), []string{"first", "handover"}; !slices.Equal(got, want) {
		t.Errorf("terms began by %v, want %v", got, want)
	}
}

// TestEvictionsOutsideAzure runs a worker without a metadata service, and a worker with another
// server at the service's address. Each of the two workers logs this once, and works.
func TestEvictionsOutsideAzure(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	c := newCluster(t)
	for _, url := range []string{"http://127.0.0.1:1", other.URL} {
		w := c.start(func(cfg *worker.Config) { cfg.WatchEvictions, cfg.MetadataURL = true, url })
		w.logged(`msg="(Cannot watch for evictions)`)
		w.awaitReady()
		w.end()
		if n := strings.Count(w.log.String(), "evictions"); n != 1 {
			t.Errorf("%s: %d log lines are about evictions, want 1", url, n)
		}
	}
}

package bench_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite"
	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/deploy/local/faults"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// BenchmarkAzureRequests counts the storage requests of four workers per minute, without jobs, with
// one job and with ten jobs. All requests are the leader's, because followers send no storage
// requests.
func BenchmarkAzureRequests(b *testing.B) {
	const window = 30 * time.Second
	for b.Loop() {
		counts := newRequestCounts(b)
		f := startFleet(b, counts.flags, 4)
		jobs := 0
		for _, want := range []int{0, 1, 10} {
			for ; jobs < want; jobs++ {
				var job struct{ ID string }
				f.must(&job, append([]string{"submit", "probe"}, flags([]string{"partitions=1000000", "sleep=10ms"})...)...)
			}
			time.Sleep(5 * time.Second) // waits until the requests of the workers' start are over
			before := counts.now()
			time.Sleep(window)
			total := 0.0
			for kind, n := range counts.now() {
				if n -= before[kind]; n > 0 {
					perMinute := float64(n) / window.Minutes()
					total += perMinute
					b.Logf("%d jobs: %-17s (%s) %.0f a minute", jobs, kind, kind.Class(), perMinute)
				}
			}
			b.ReportMetric(total, fmt.Sprintf("requests/min-%d-jobs", jobs))
		}
	}
}

// requestCounts counts the requests to Azurite in a proxy.
type requestCounts struct {
	flags []string // command-line flags that select the storage

	mu    sync.Mutex
	kinds map[account.Kind]int
}

func newRequestCounts(b *testing.B) *requestCounts {
	b.Helper()
	server := azuritetest.Server(b)
	transport, err := faults.New(server.QueueURL())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(transport.Close)
	c := &requestCounts{kinds: map[account.Kind]int{}}
	transport.Set(func(kind account.Kind, _ *http.Request) faults.Fault {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.kinds[kind]++
		return faults.Fault{}
	})
	proxy := func(endpoint string) string {
		handler, err := transport.Handler(endpoint)
		if err != nil {
			b.Fatal(err)
		}
		s := httptest.NewServer(handler)
		b.Cleanup(s.Close)
		return s.URL + "/" + azurite.AccountName
	}
	file := filepath.Join(b.TempDir(), "connection")
	connection := azurite.ConnectionString(proxy(server.BlobURL()), proxy(server.QueueURL()))
	if err := os.WriteFile(file, []byte(connection), 0o600); err != nil {
		b.Fatal(err)
	}
	c.flags = []string{"--storage", "azure", "--azure-connection-file", file}
	return c
}

func (c *requestCounts) now() map[account.Kind]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.kinds)
}

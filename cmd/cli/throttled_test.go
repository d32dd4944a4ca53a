package cli_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/scan"
)

// TestThrottledDryRun plans a job whose storage throttles the first requests. The command says which account it waits
// for.
func TestThrottledDryRun(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) <= 2 {
			w.Header().Set("Retry-After-Ms", "1")
			http.Error(w, "", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "a.csv", time.Time{}, strings.NewReader("station,temperature\nOslo,2\n"))
	}))
	defer busy.Close()
	var out, errs bytes.Buffer
	args := []string{"run", "scan", "--dry-run", "-p", "input=" + busy.URL + "/a.csv"}
	status := cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, jobs.MustNew(scan.Definition))
	host := strings.TrimPrefix(busy.URL, "http://")
	if status != 0 || strings.Count(errs.String(), "account="+host) != 1 {
		t.Errorf("status %d, %s%s, want one line with account=%s", status, out.Bytes(), errs.Bytes(), host)
	}
}

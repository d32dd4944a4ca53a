package dataset_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
)

// TestThrottledAccount runs a job whose objects are in two accounts, one of which throttles most requests. The job has
// one attempt for each partition. Its log names the account once.
func TestThrottledAccount(t *testing.T) {
	var requests, throttled atomic.Int64
	text := "station,temperature\n" + strings.Repeat("Oslo,2\nOslo,4\n", 1000)
	serve := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "a.csv", time.Time{}, strings.NewReader(text))
	}
	free := httptest.NewServer(http.HandlerFunc(serve))
	defer free.Close()
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := requests.Add(1); n <= 8 || n%3 == 0 {
			throttled.Add(1)
			http.Error(w, "", http.StatusServiceUnavailable)
			return
		}
		serve(w, r)
	}))
	defer busy.Close()
	job := jobs.MustNew(dataset.Define(means))
	params, err := job.Params(nil, "input="+busy.URL+"/a.csv,"+free.URL+"/a.csv", "block=2500")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var log []string
	ctx := jobs.WithLog(t.Context(), func(l jobs.LogLine) {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, l.Text)
	})
	grant := jobs.Grant{Web: []string{strings.TrimPrefix(busy.URL, "http://"), strings.TrimPrefix(free.URL, "http://")}}
	done, err := jobs.Local{Slots: 4, Attempts: 1, Grant: grant}.Run(ctx, job, params)
	if err != nil || string(done.Result) != `{"Oslo":3}` || throttled.Load() < 8 {
		t.Errorf("got %s, %v after %d throttled requests", done.Result, err, throttled.Load())
	}
	want := fmt.Sprintf("account=%s", grant.Web[0])
	if len(log) != 1 || !strings.Contains(log[0], want) {
		t.Errorf("got the log %q, want one line with %s", log, want)
	}
}

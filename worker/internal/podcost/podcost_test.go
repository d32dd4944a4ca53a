package podcost

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// apiServer is a fake of the Kubernetes API server. apiServer sends each request to the channel
// requests, and answers with the next status from statuses.
type apiServer struct {
	requests chan string
	statuses chan int
}

func (s apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s.requests <- fmt.Sprintln(r.Method, r.URL.Path, r.Header.Get("Content-Type"), r.Header.Get("Authorization"), string(body), err)
	w.WriteHeader(<-s.statuses)
	_, _ = io.WriteString(w, `{"kind":"Status","message":"no such pod"}`)
}

// start runs an annotator against a server until the test ends.
func start(t *testing.T, cost func() float64, log io.Writer) (s apiServer, account string) {
	t.Helper()
	s = apiServer{make(chan string), make(chan int)}
	server := httptest.NewTLSServer(s)
	account = t.TempDir()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, data := range map[string][]byte{"ca.crt": authority, "token": []byte("first\n")} {
		if err := os.WriteFile(filepath.Join(account, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, err := New(Config{
		URL: server.URL, Account: account, Pod: "fleet-1", Namespace: "batch",
		Every: time.Millisecond, Cost: cost, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		server.Close()
	})
	return s, account
}

// TestAnnotates expects a request for each cost that differs much from the previous cost.
func TestAnnotates(t *testing.T) {
	var cost atomic.Int64
	var log bytes.Buffer
	cost.Store(12)
	s, account := start(t, func() float64 { return float64(cost.Load()) - 0.5 }, &log)
	want := func(token string, value int) {
		t.Helper()
		expected := fmt.Sprintln("PATCH", "/api/v1/namespaces/batch/pods/fleet-1", "application/merge-patch+json", "Bearer "+token,
			fmt.Sprintf(`{"metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":"%d"}}}`, value), "<nil>")
		if got := <-s.requests; got != expected {
			t.Errorf("got %q, want %q", got, expected)
		}
	}
	want("first", 12)
	if err := os.WriteFile(filepath.Join(account, "token"), []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	cost.Store(400) // change the cost while the first request is in flight
	s.statuses <- http.StatusOK
	want("second", 400)
	cost.Store(0)
	s.statuses <- http.StatusOK
	want("second", 0)
	s.statuses <- http.StatusOK
}

// TestRefused expects one log line with a remedy for repeated refusals, and that the annotator
// retries.
func TestRefused(t *testing.T) {
	var log bytes.Buffer
	t.Run("requests", func(t *testing.T) {
		s, _ := start(t, func() float64 { return 60 }, &log)
		for _, status := range []int{http.StatusForbidden, http.StatusForbidden, http.StatusForbidden, http.StatusNotFound, http.StatusOK} {
			<-s.requests
			s.statuses <- status
		}
	})
	for _, text := range []string{"Role with the verb patch on pods", "no such pod"} {
		if n := strings.Count(log.String(), text); n != 1 {
			t.Errorf("the log has %q %d times, want once:\n%s", text, n, log.String())
		}
	}
}

func TestWorthTelling(t *testing.T) {
	for _, c := range []struct {
		told, now int64
		want      bool
	}{{-1, 0, true}, {0, 0, false}, {0, 4, false}, {0, 5, true}, {20, 24, false}, {20, 27, true}, {1000, 1200, false}, {1000, 700, true}, {6, 0, true}} {
		if got := worthTelling(c.told, c.now); got != c.want {
			t.Errorf("%d after %d: got %v", c.now, c.told, got)
		}
	}
	for cost, want := range map[float64]int64{-1: 0, 0.1: 1, 1e12: math.MaxInt32} {
		if got := valueOf(cost); got != want {
			t.Errorf("%v: got %d, want %d", cost, got, want)
		}
	}
}

// TestOutsideAPod expects errors that name the missing variable or file.
func TestOutsideAPod(t *testing.T) {
	for _, name := range []string{"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "POD_NAME", "POD_NAMESPACE"} {
		t.Setenv(name, "")
	}
	for want, cfg := range map[string]Config{
		"KUBERNETES_SERVICE_HOST":      {},
		"POD_NAME":                     {URL: "https://127.0.0.1"},
		"automountServiceAccountToken": {URL: "https://127.0.0.1", Pod: "p", Namespace: "n", Account: t.TempDir()},
	} {
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %s", err, want)
		}
	}
}

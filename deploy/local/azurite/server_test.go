package azurite

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// needNode skips a test if Node.js is not installed, except in CI.
func needNode(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil && os.Getenv("CI") == "" {
		t.Skip(ErrNoNode)
	}
}

// answers reports whether a server answers HTTP at the URL.
func answers(t *testing.T, rawURL string) bool {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	resp, err := client.Get(rawURL)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.Header.Get("Server") != ""
}

func TestStartTwoAndStop(t *testing.T) {
	needNode(t)
	var wait sync.WaitGroup
	for range 2 { // if Azurite is not installed yet, one of the two processes installs it
		wait.Go(func() {
			server, err := Start(t.Context(), Config{Dir: t.TempDir()})
			if err != nil {
				t.Error(err)
				return
			}
			for _, u := range []string{server.BlobURL(), server.QueueURL()} {
				if !answers(t, u) || !strings.HasPrefix(u, "http://127.0.0.1:") {
					t.Errorf("no Azurite answers at %s", u)
				}
			}
			for range 2 {
				if err := server.Stop(); err != nil {
					t.Error(err)
				}
			}
			if answers(t, server.BlobURL()) {
				t.Error("it still answers")
			}
		})
	}
	wait.Wait()
}

func TestPortInUse(t *testing.T) {
	needNode(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	server, err := Start(t.Context(), Config{BlobPort: listener.Addr().(*net.TCPAddr).Port})
	if err == nil {
		_ = server.Stop()
		t.Fatal("it started on a port that is in use")
	}
	if !strings.Contains(err.Error(), "EADDRINUSE") {
		t.Errorf("the error does not say why: %v", err)
	}
}

func TestCancelledStartLeavesNothing(t *testing.T) {
	needNode(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	_ = free.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if server, err := Start(ctx, Config{BlobPort: port}); err == nil {
		_ = server.Stop()
		t.Fatal("it started")
	}
	if answers(t, "http://127.0.0.1:"+strconv.Itoa(port)) {
		t.Error("it still answers")
	}
}

func TestWithoutNode(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Start(t.Context(), Config{})
	if !errors.Is(err, ErrNoNode) || !strings.Contains(err.Error(), "https://nodejs.org") {
		t.Errorf("the error does not say what to install: %v", err)
	}
}

func TestConnectionString(t *testing.T) {
	got := ConnectionString("https://127.0.0.1:1/x", "https://127.0.0.1:2/x")
	for _, want := range []string{"DefaultEndpointsProtocol=https;", "BlobEndpoint=https://127.0.0.1:1/x;", "QueueEndpoint=https://127.0.0.1:2/x;"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
}

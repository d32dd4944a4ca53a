package processes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/bench/peers/processes"
)

func TestOutputAndVersion(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	for printed, want := range map[string]string{
		"mpirun (Open MPI) 4.1.4\n\nReport bugs to":                  "Product 4.1.4",
		"postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)":       "Product 15.14",
		"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0": "Product 7.0.15",
	} {
		if err := os.WriteFile(program, []byte("#!/bin/sh\necho '"+printed+"'\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if got, err := processes.Version(t.Context(), "Product", program); err != nil || got != want {
			t.Errorf("%s: got %q, %v", printed, got, err)
		}
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho none\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := processes.Version(t.Context(), "Product", program); err == nil || !strings.Contains(err.Error(), "Product for its version") {
		t.Errorf("no version: %v", err)
	}
	if _, err := processes.Output(t.Context(), "", "sh", "-c", "echo lost >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "exit status 3: lost") {
		t.Errorf("got %v", err)
	}
	if err := processes.Ask(t.Context(), new(int), "", "echo", "x"); err == nil {
		t.Error("a text counts as JSON")
	}
}

func TestMain(m *testing.M) {
	processes.Main(map[string]processes.Role{
		"echo": func(ctx context.Context, config []byte, tell func(any)) error {
			tell(json.RawMessage(config))
			<-ctx.Done()
			return nil
		},
		"fail": func(context.Context, []byte, func(any)) error { return errors.New("alas") },
	})
	goleak.VerifyTestMain(m)
}

func TestProcessTellsAndEnds(t *testing.T) {
	told := make(chan string, 2)
	g, err := processes.Start(processes.Config{
		Role: "echo", Config: map[string]int{"n": 3},
		Heard: func(process string, line []byte) { told <- process + " " + strings.TrimSpace(string(line)) },
		Ended: func(err error) { t.Errorf("it ended: %v", err) },
	}, 2)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for range 2 {
		got[<-told] = true
	}
	if !got[`worker 1 {"n":3}`] || !got[`worker 2 {"n":3}`] {
		t.Errorf("heard %v", got)
	}
	p, err := g.Add()
	if err != nil {
		t.Fatal(err)
	}
	<-told
	g.Kill(p) // Kill must not be reported as an unexpected end
	g.Stop()
}

func TestUnaskedEndIsReported(t *testing.T) {
	ended := make(chan error, 1)
	g, err := processes.Start(processes.Config{Role: "fail", Ended: func(err error) { ended <- err }}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Stop()
	if err := <-ended; !strings.Contains(err.Error(), "alas") {
		t.Errorf("the error does not say why: %v", err)
	}
}

func TestWatch(t *testing.T) {
	w, n := processes.NewWatch(), 0
	go func() {
		for range 100 {
			w.Change(func() { n++ })
		}
	}()
	if err := w.Await(t.Context(), "all are counted", func() bool { return n == 100 }); err != nil {
		t.Error(err)
	}
	never := func() bool { return false }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Await(ctx, "never", never); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is done: got %v", err)
	}
	alas := errors.New("alas")
	go w.Fail(alas)
	if err := w.Await(t.Context(), "never", never); err != alas {
		t.Errorf("got %v, want %v", err, alas)
	}
	w.Fail(errors.New("another"))
	if err := w.Await(t.Context(), "never", never); err != alas {
		t.Errorf("got %v, want the first error", err)
	}
}

func sleeper(script string, ready func(context.Context) error) processes.Program {
	return processes.Program{Path: "/bin/sh", Args: []string{"-c", script}, End: syscall.SIGTERM, Ready: ready}
}

func TestServerStops(t *testing.T) {
	s, err := processes.Serve(t.Context(), sleeper("exec sleep 1000", func(context.Context) error { return nil }))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestServerThatEndsIsNoServer(t *testing.T) {
	never := errors.New("nobody answers")
	_, err := processes.Serve(t.Context(), sleeper("echo no such option; exit 3", func(context.Context) error { return never }))
	if err == nil || !strings.Contains(err.Error(), "no such option") {
		t.Errorf("the error does not say why: %v", err)
	}
}

func TestServerThatNeverAnswersIsStopped(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	pid := t.TempDir() + "/pid"
	_, err := processes.Serve(ctx, sleeper("echo $$ >"+pid+"; exec sleep 1000", func(context.Context) error { return errors.New("no answer") }))
	if err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("the error does not say why: %v", err)
	}
	text, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	var id int
	if _, err := fmt.Sscan(string(text), &id); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(id, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", id, err)
	}
}

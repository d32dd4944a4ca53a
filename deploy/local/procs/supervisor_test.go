package procs_test

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/deploy/local/procs"
)

// TestMain makes the test binary the program that the supervisor runs.
func TestMain(m *testing.M) {
	switch os.Getenv("PROCS_TEST_AS") {
	case "":
		goleak.VerifyTestMain(m)
	case "sleeper":
		fmt.Println("awake")
		select {}
	case "ignores SIGTERM":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("awake")
		select {}
	case "exits":
		fmt.Fprintln(os.Stderr, "exiting")
		os.Exit(1)
	}
}

// watched is a writer whose text tests can wait for.
type watched struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newWatched() *watched { return &watched{more: make(chan struct{}, 1)} }

func (w *watched) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(data)
	select {
	case w.more <- struct{}{}:
	default:
	}
	return len(data), nil
}

// count waits until the text contains the string what n times.
func (w *watched) count(t *testing.T, n int, what string) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		w.mu.Lock()
		text := w.text.String()
		w.mu.Unlock()
		if strings.Count(text, what) >= n {
			return
		}
		select {
		case <-w.more:
		case <-deadline:
			t.Fatalf("want %d times %q in the output, got:\n%s", n, what, text)
		}
	}
}

func newSupervisor(t *testing.T, as string, restart bool) (*procs.Supervisor, *watched) {
	t.Helper()
	out := newWatched()
	s := procs.New(procs.Config{
		Program: os.Args[0], Env: []string{"PROCS_TEST_AS=" + as}, Output: out, Restart: restart,
	})
	t.Cleanup(func() { s.Stop(0, nil) })
	return s, out
}

func start(t *testing.T, s *procs.Supervisor) *procs.Process {
	t.Helper()
	p, err := s.Start()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestStopEndsEveryProcess(t *testing.T) {
	s, out := newSupervisor(t, "sleeper", true)
	a, b := start(t, s), start(t, s)
	out.count(t, 1, "worker 1 | awake\n")
	out.count(t, 1, "worker 2 | awake\n")
	if got := len(s.Running()); got != 2 {
		t.Fatalf("running: got %d processes, want 2", got)
	}
	s.Stop(time.Minute, nil)
	for _, p := range []*procs.Process{a, b} {
		select {
		case <-p.Done():
		default:
			t.Errorf("%s has not ended after Stop", p.Name())
		}
	}
	if got := len(s.Running()); got != 0 {
		t.Errorf("running after Stop: got %d processes, want 0", got)
	}
	if _, err := s.Start(); err != procs.ErrStopped {
		t.Errorf("Start after Stop: got %v, want ErrStopped", err)
	}
}

func TestStopKillsProcessesThatIgnoreSIGTERM(t *testing.T) {
	s, out := newSupervisor(t, "ignores SIGTERM", false)
	p := start(t, s)
	out.count(t, 1, "awake")
	kill := make(chan struct{})
	close(kill)
	s.Stop(time.Hour, kill)
	select {
	case <-p.Done():
	default:
		t.Error("the process runs after Stop was told to kill it")
	}
}

func TestRestartsAProcessThatDies(t *testing.T) {
	s, out := newSupervisor(t, "sleeper", true)
	p := start(t, s)
	out.count(t, 1, "worker 1 | awake")
	p.Kill()
	out.count(t, 2, "worker 1 | awake")
	if s.Find(p.PID()) != nil {
		t.Error("Find returned a process that was killed")
	}
}

func TestRestartsRepeatedly(t *testing.T) {
	s, out := newSupervisor(t, "exits", true)
	start(t, s)
	out.count(t, 3, "worker 1 | exiting")
}

func TestDoesNotRestartUnlessConfigured(t *testing.T) {
	s, _ := newSupervisor(t, "exits", false)
	p := start(t, s)
	<-p.Done()
	s.Stop(time.Minute, nil) // Stop returns when no process can start any more
	if got := len(s.Running()); got != 0 {
		t.Errorf("running: got %d processes, want 0", got)
	}
}

func TestEndedProcessIsNotRunning(t *testing.T) {
	s, _ := newSupervisor(t, "exits", false)
	for range 20 {
		p := start(t, s)
		<-p.Done()
		if n := len(s.Running()); n > 0 {
			t.Fatalf("running: got %d processes after all have ended, want 0", n)
		}
	}
}

func TestStartReportsAMissingProgram(t *testing.T) {
	s := procs.New(procs.Config{Program: "/nonexistent/program"})
	defer s.Stop(0, nil)
	if _, err := s.Start(); err == nil {
		t.Error("Start with a missing program: got no error")
	}
}

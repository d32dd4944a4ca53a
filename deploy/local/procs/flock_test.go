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

// TestMain makes the test binary the program that a flock runs.
func TestMain(m *testing.M) {
	switch os.Getenv("FLOCK_TEST_AS") {
	case "":
		goleak.VerifyTestMain(m)
	case "sleeper":
		fmt.Println("awake")
		select {}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("awake")
		select {}
	case "mayfly":
		fmt.Fprintln(os.Stderr, "alas")
		os.Exit(1)
	}
}

// watched is a writer that can be waited on.
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

// count waits until the text has n times what.
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

func newFlock(t *testing.T, as string, replace bool) (*procs.Flock, *watched) {
	t.Helper()
	out := newWatched()
	f := procs.New(procs.Config{
		Program: os.Args[0], Env: []string{"FLOCK_TEST_AS=" + as}, Output: out, Replace: replace,
	})
	t.Cleanup(func() { f.Stop(0, nil) })
	return f, out
}

func add(t *testing.T, f *procs.Flock) *procs.Process {
	t.Helper()
	p, err := f.Add()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestStopEndsEveryProcess(t *testing.T) {
	f, out := newFlock(t, "sleeper", true)
	a, b := add(t, f), add(t, f)
	out.count(t, 1, "worker 1 | awake\n")
	out.count(t, 1, "worker 2 | awake\n")
	if got := len(f.Running()); got != 2 {
		t.Fatalf("running: got %d processes, want 2", got)
	}
	f.Stop(time.Minute, nil)
	for _, p := range []*procs.Process{a, b} {
		select {
		case <-p.Ended():
		default:
			t.Errorf("%s has not ended after Stop", p.Name())
		}
	}
	if got := len(f.Running()); got != 0 {
		t.Errorf("running after Stop: got %d processes, want 0", got)
	}
	if _, err := f.Add(); err != procs.ErrStopped {
		t.Errorf("Add after Stop: got %v, want ErrStopped", err)
	}
}

func TestStopKillsWhatDoesNotEnd(t *testing.T) {
	f, out := newFlock(t, "stubborn", false)
	p := add(t, f)
	out.count(t, 1, "awake")
	hurry := make(chan struct{})
	close(hurry)
	f.Stop(time.Hour, hurry)
	select {
	case <-p.Ended():
	default:
		t.Error("the process has not ended after Stop in a hurry")
	}
}

func TestReplacesAProcessThatDies(t *testing.T) {
	f, out := newFlock(t, "sleeper", true)
	p := add(t, f)
	out.count(t, 1, "worker 1 | awake")
	p.Kill()
	out.count(t, 2, "worker 1 | awake")
	if f.Find(p.PID()) != nil {
		t.Error("the dead process is still among the running ones")
	}
}

func TestReplacesAgainAndAgain(t *testing.T) {
	f, out := newFlock(t, "mayfly", true)
	add(t, f)
	out.count(t, 3, "worker 1 | alas")
}

func TestDoesNotReplaceUnlessAsked(t *testing.T) {
	f, _ := newFlock(t, "mayfly", false)
	p := add(t, f)
	<-p.Ended()
	f.Stop(time.Minute, nil) // returns only when nothing starts any more
	if got := len(f.Running()); got != 0 {
		t.Errorf("running: got %d processes, want 0", got)
	}
}

func TestWhatIsKnownToHaveEndedIsNotRunning(t *testing.T) {
	f, _ := newFlock(t, "mayfly", false)
	for range 20 {
		p := add(t, f)
		<-p.Ended()
		if n := len(f.Running()); n > 0 {
			t.Fatalf("running: got %d processes after all have ended, want none", n)
		}
	}
}

func TestAddReportsAProgramThatCannotStart(t *testing.T) {
	f := procs.New(procs.Config{Program: "/nonexistent/program"})
	defer f.Stop(0, nil)
	if _, err := f.Add(); err == nil {
		t.Error("Add with no such program: got no error")
	}
}

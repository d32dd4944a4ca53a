package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/bench/peers/failover"
	"github.com/bellwether-compute/bellwether/bench/peers/processes"
	"github.com/bellwether-compute/bellwether/bench/peers/servers"
	"github.com/bellwether-compute/bellwether/bench/peers/throughput"
)

// asProgram is the environment variable that makes the test binary run as the program peers.
const asProgram = "PEERS_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	processes.Main(roles())
	if os.Getenv(asProgram) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

func TestBadUsage(t *testing.T) {
	for args, want := range map[string]string{
		"":                                 "want one of throughput, failover, aggregate, rounds, scan, programs and all",
		"throughput failover":              "want one of throughput, failover, aggregate, rounds, scan, programs and all",
		"latency":                          `got "latency"`,
		"-rounds 0 all":                    "-rounds must be 1 to 1000, got 0",
		"-processes -1 throughput":         "-processes must be 1 to 64, got -1",
		"-slots 65 throughput":             "-slots must be 1 to 64, got 65",
		"-kills 0 failover":                "-kills must be 1 to 1000, got 0",
		"-for -1s throughput":              "-for must be 0s to 1h, got -1s",
		"-busy 0s throughput":              "-busy must be 1ms to 1h, got 0s",
		"-busy-tasks 10,x throughput":      "want whole numbers",
		"-system Kafka throughput":         "there is no such system",
		"-system River failover":           "failover does not measure any of the selected systems",
		"-workers 0 aggregate":             "-workers must be 1 to 64, got 0",
		"-sizes 12 aggregate":              "want multiples of 8",
		"-points 9 -clusters 10 rounds":    "-points must be at least -clusters",
		"-cases 1999 rounds":               "-cases at least 100 times -predictors",
		"-predictors 0 rounds":             "-predictors must be 1 to 200",
		"-passes 100 rounds":               "-passes must be 1 to 99, got 100",
		"-keepers 0 rounds":                "-keepers must be 1 to 64, got 0",
		"-rows 1 scan":                     "-rows must be at least 2, got 1",
		"-least 0 aggregate":               "-least must be at least 1",
		"-system River aggregate":          "aggregate does not measure any of the selected systems",
		"-o yaml all":                      `got "yaml"`,
		"-fast all":                        "not defined",
		"-bellwether /nonexistent/bin all": "make build",
	} {
		var out, errs bytes.Buffer
		if got := run(t.Context(), strings.Fields(args), &out, &errs); got != statusUsage {
			t.Errorf("%s: status %d", args, got)
		}
		if !strings.Contains(errs.String(), want) || out.Len() > 0 {
			t.Errorf("%s: got %q and %q, want %q", args, out.String(), errs.String(), want)
		}
	}
}

func TestHelp(t *testing.T) {
	var out, errs bytes.Buffer
	if got := run(t.Context(), []string{"-help"}, &out, &errs); got != statusOK {
		t.Errorf("status %d", got)
	}
	for _, want := range []string{"usage: peers", "-rounds", "River, synced", "hashicorp/raft"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("%q is missing in\n%s", want, errs.String())
		}
	}
}

// anyProgram returns the path of a file that replaces the bellwether program in tests that do not
// run it.
func anyProgram(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMeasuresAndPrints(t *testing.T) {
	for format, wants := range map[string][]string{
		"table":    {"empty tasks", "goroutine pool", "TASKS/S"},
		"markdown": {"Measured ", "### ", "| goroutine pool |", "peers"},
		"json":     {`"goroutine pool"`, `"seconds"`, `"machine"`},
	} {
		var out, errs bytes.Buffer
		args := []string{
			"-bellwether", anyProgram(t), "-o", format, "-rounds", "2", "-for", "20ms", "-same", "100",
			"-busy", "10ms", "-busy-tasks", "10", "-system", "goroutine pool", "throughput",
		}
		if got := run(t.Context(), args, &out, &errs); got != statusOK {
			t.Fatalf("status %d: %s", got, errs.String())
		}
		for _, want := range wants {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is missing in\n%s", format, want, out.String())
			}
		}
		if format == "json" && !json.Valid(out.Bytes()) {
			t.Error("it is no JSON")
		}
		if !strings.Contains(errs.String(), "round 2 of 2") {
			t.Errorf("no progress: %s", errs.String())
		}
	}
}

func TestTablesOfBoth(t *testing.T) {
	r := results{tables: slices.Concat(throughput.Result{}.Tables(), failover.Result{}.Tables())}
	if got := len(r.tables); got != 2 {
		t.Errorf("got %d tables, want that of the systems and that of failovers", got)
	}
	for _, format := range []string{"table", "markdown", "json"} {
		if err := r.print(brokenPipe{}, format); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: nobody reads it, and the error is %v", format, err)
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestNothingIsLeftBehind checks that all servers and processes that the program started end with
// the program, even if the program is killed.
func TestNothingIsLeftBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs Redis")
	}
	if _, err := servers.RedisVersion(t.Context()); errors.Is(err, servers.ErrMissing) {
		t.Skip(err)
	}
	for _, end := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(end.String(), func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0], "-bellwether", anyProgram(t), "-system", "asynq, synced", "-same", "1000000", "throughput")
			cmd.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+dir)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			until(t, "Redis runs", func() bool { return len(running(t, dir)) > 0 })
			if err := cmd.Process.Signal(end); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("it ended as if all were well")
			}
			until(t, "nothing runs", func() bool { return len(running(t, dir)) == 0 })
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 && end != syscall.SIGKILL {
				t.Errorf("left in the folder for data: %v, %v", left, err)
			}
		})
	}
}

// running returns the processes whose command line contains a folder, or whose working directory is
// in the folder.
func running(t *testing.T, dir string) (found []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range all {
		line, err := os.ReadFile(filepath.Join(process, "cmdline"))
		if err != nil {
			continue // the process has ended
		}
		work, _ := os.Readlink(filepath.Join(process, "cwd"))
		if bytes.Contains(line, []byte(dir)) || strings.HasPrefix(work, dir) {
			found = append(found, fmt.Sprintf("%s %q", process, line))
		}
	}
	return found
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !holds() {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func TestNamesDiffer(t *testing.T) {
	all := names()
	slices.Sort(all)
	if len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("some systems have the same name: %v", all)
	}
}

package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/deploy/local/procs"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/primes"
	"github.com/bellwether-compute/bellwether/jobs/probe"
)

// TestMain runs a worker if a benchmark started the test binary as a worker process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		cli.Main(known()...)
	}
	code := m.Run()
	if err := azuritetest.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func known() []jobs.Job {
	return []jobs.Job{jobs.MustNew(primes.Definition), jobs.MustNew(probe.Definition)}
}

// fleet is a cluster for benchmarks: a NATS server, storage and worker processes.
type fleet struct {
	b     *testing.B
	url   string
	flags []string // command-line flags that select the storage
	*procs.Supervisor
}

// startFleet starts workers with one slot each on the storage that the flags select. The workers
// stop when the benchmark ends.
func startFleet(b *testing.B, storage []string, workers int) *fleet {
	b.Helper()
	server, err := natsserver.Start(natsserver.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(server.Shutdown)
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	f := &fleet{b: b, url: server.URL(), flags: append(storage, "--cluster", fmt.Sprintf("bench-%d", time.Now().UnixNano()))}
	f.Supervisor = procs.New(procs.Config{
		Program: program,
		Args:    append([]string{"worker", "--with-parent", "--slots", "1", "--allow", "probe"}, f.flags...),
		Env:     []string{"BELLWETHER_NATS_URL=" + server.URL()},
	})
	b.Cleanup(func() { f.Stop(30*time.Second, nil) })
	for range workers {
		if _, err := f.Start(); err != nil {
			b.Fatal(err)
		}
	}
	f.awaitWorkers(workers)
	return f
}

// ask runs a command of bellwether and decodes its output.
func (f *fleet) ask(answer any, args ...string) error {
	var out, errs bytes.Buffer
	args = slices.Concat(args, []string{"-o", "json", "--nats", f.url, "--reply-timeout", "30s"}, f.flags)
	status := cli.Run(context.Background(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, known()...)
	if status != 0 {
		return fmt.Errorf("%v: status %d: %s", args, status, errs.Bytes())
	}
	return json.Unmarshal(out.Bytes(), answer)
}

func (f *fleet) must(answer any, args ...string) {
	f.b.Helper()
	if err := f.ask(answer, args...); err != nil {
		f.b.Fatal(err)
	}
}

func (f *fleet) until(what string, holds func() bool) {
	f.b.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			var history, workers, jobs json.RawMessage
			_, _, _ = f.ask(&history, "history"), f.ask(&workers, "workers"), f.ask(&jobs, "list")
			f.b.Fatalf("timed out waiting until %s\nhistory %s\nworkers %s\njobs %s", what, history, workers, jobs)
		}
	}
}

func (f *fleet) awaitWorkers(n int) {
	f.b.Helper()
	f.until(fmt.Sprintf("%d workers are there", n), func() bool {
		var workers []struct{ State string }
		return f.ask(&workers, "workers") == nil && n == len(slices.DeleteFunc(workers, func(w struct{ State string }) bool {
			return w.State != "idle" && w.State != "busy"
		}))
	})
}

func flags(params []string) []string {
	var list []string
	for _, p := range params {
		list = append(list, "-p", p)
	}
	return list
}

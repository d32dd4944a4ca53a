package nats_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/probe"
)

// flock is a server, or several, with workers of this process.
type flock struct {
	t     *testing.T
	url   string
	flags []string // of all commands
	logs  []*log
}

// startFlock starts workers on a server, and waits until one leads them all.
func startFlock(t *testing.T, workers int, edits ...string) *flock {
	t.Helper()
	f := &flock{t: t, url: startServer(t, edits...)}
	f.startWorkers(workers)
	return f
}

func (f *flock) startWorkers(n int) {
	f.t.Helper()
	for range n {
		f.startWorker()
	}
	f.until("all workers are there", func() bool {
		var list []json.RawMessage
		return f.ask(submitter, &list, "workers") == nil && len(list) == n
	})
}

// startWorker starts a worker that ends with the test, in order.
func (f *flock) startWorker() {
	ctx, stop := context.WithCancel(context.Background())
	out := new(log)
	f.logs = append(f.logs, out)
	ended := make(chan int, 1)
	go func() { ended <- f.run(ctx, worker, out, out, "worker", "--slots", "1") }()
	f.t.Cleanup(func() {
		stop()
		if status := <-ended; status != 0 {
			f.t.Errorf("a worker ended with status %d:\n%s", status, out)
		}
	})
}

// run runs a command as a user, or as nobody.
func (f *flock) run(ctx context.Context, user string, out, errs io.Writer, args ...string) int {
	flags := append([]string{"--nats", f.url, "--timeout", "10s"}, f.flags...)
	if user != "" {
		flags = append(flags, "--user", user, "--password", passwords[user])
	}
	streams := cli.Streams{In: strings.NewReader(""), Out: out, Err: errs}
	return cli.Run(ctx, append(flags, args...), streams, jobs.MustNew(probe.Definition), jobs.MustNew(bulky))
}

// bulky is a job whose result is too large for one message.
var bulky = jobs.Definition[struct{}, int, string]{
	Name: "bulky", Version: "1", Summary: "has a large result",
	Plan:   func(context.Context, struct{}) (jobs.Plan, error) { return jobs.Plan{Partitions: 4}, nil },
	Open:   func(context.Context, struct{}, jobs.Plan) (jobs.Mapper[int], error) { return one{}, nil },
	Merge:  func(left, right int) (int, error) { return left + right, nil },
	Finish: func(_ context.Context, _ struct{}, n int) (string, error) { return strings.Repeat("baa ", n<<18), nil },
}

type one struct{}

func (one) Map(context.Context, uint64) (int, error) { return 1, nil }

// outcome is what commands print of a job.
type outcome struct {
	ID, State, SHA256 string
	Partitions        uint64
}

// ask runs a command as a user and decodes what it prints.
func (f *flock) ask(user string, answer any, args ...string) error {
	var out, errs bytes.Buffer
	if status := f.run(f.t.Context(), user, &out, &errs, append(args, "-o", "json")...); status != 0 {
		return fmt.Errorf("%s: %v: status %d: %s", user, args, status, &errs)
	}
	return json.Unmarshal(out.Bytes(), answer)
}

// must is ask for a command that must succeed.
func (f *flock) must(user string, answer any, args ...string) {
	f.t.Helper()
	if err := f.ask(user, answer, args...); err != nil {
		f.t.Fatal(err)
	}
}

// status is how a command of a user ends that does not wait long for an answer.
func (f *flock) status(user string, args ...string) int {
	return f.run(f.t.Context(), user, io.Discard, io.Discard, append(args, "--timeout", "500ms")...)
}

func (f *flock) until(what string, holds func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			for _, l := range f.logs {
				f.t.Log(l)
			}
			f.t.Fatalf("waited in vain until %s", what)
		}
	}
}

// refusedNothing checks that the server let the workers do all that they tried.
func (f *flock) refusedNothing() {
	f.t.Helper()
	for _, l := range f.logs {
		if strings.Contains(strings.ToLower(l.String()), "permissions violation") {
			f.t.Errorf("the configuration lacks something that workers need:\n%s", l)
		}
	}
}

// connect connects as a user, and keeps what the server refuses.
func (f *flock) connect(user string) (*nats.Conn, *log) {
	f.t.Helper()
	refused := new(log)
	nc, err := nats.Connect(f.url, nats.UserInfo(user, passwords[user]), nats.RootCAs(os.Getenv("NATS_CA")),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			_, _ = refused.Write([]byte(err.Error() + "\n"))
		}))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(nc.Close)
	return nc, refused
}

// flush returns once the server has taken all that was sent.
func flush(t *testing.T, nc *nats.Conn) {
	t.Helper()
	if err := nc.FlushTimeout(5 * time.Second); err != nil {
		t.Fatal(err)
	}
}

// log is what was written, by several goroutines.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(data)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

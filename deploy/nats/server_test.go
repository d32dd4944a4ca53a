package nats_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/probe"
)

func TestMain(m *testing.M) {
	for _, variable := range os.Environ() { // what the caller's environment says of NATS
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "NATS_") || strings.HasPrefix(name, "BELLWETHER_") {
			_ = os.Unsetenv(name)
		}
	}
	goleak.VerifyTestMain(m)
}

// The users of the configuration, and their passwords in tests.
const (
	worker            = "worker"
	workerPassword    = "hay"
	submitter         = "submitter"
	submitterPassword = "grass"
)

var passwords = map[string]string{worker: workerPassword, submitter: submitterPassword}

// startServer runs a server with the example configuration, on a free port and
// with a store of its own.
func startServer(t *testing.T) (url string) {
	t.Helper()
	t.Setenv("BELLWETHER_WORKER_PASSWORD", workerPassword)
	t.Setenv("BELLWETHER_SUBMITTER_PASSWORD", submitterPassword)
	options, err := server.ProcessConfigFile("nats-server.conf")
	if err != nil {
		t.Fatal(err)
	}
	options.Host, options.Port = "127.0.0.1", server.RANDOM_PORT
	options.StoreDir = filepath.Join(t.TempDir(), "store")
	options.NoSigs, options.NoLog = true, true
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server is not ready")
	}
	return s.ClientURL()
}

// flock is a server with workers of this process.
type flock struct {
	t    *testing.T
	url  string
	logs []*log
}

// startFlock starts workers, and waits until one leads them all.
func startFlock(t *testing.T, workers int) *flock {
	t.Helper()
	f := &flock{t: t, url: startServer(t)}
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

func (f *flock) run(ctx context.Context, user string, out, errs io.Writer, args ...string) int {
	flags := []string{"--nats", f.url, "--timeout", "10s"}
	if user != "" {
		flags = append(flags, "--user", user, "--password", passwords[user])
	}
	args = append(flags, args...)
	streams := cli.Streams{In: strings.NewReader(""), Out: out, Err: errs}
	return cli.Run(ctx, args, streams, jobs.MustNew(probe.Definition), jobs.MustNew(bulky))
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
func (one) Close() error                             { return nil }

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

func (f *flock) until(what string, holds func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			for _, l := range f.logs {
				f.t.Log(l)
			}
			f.t.Fatalf("waited in vain until %s", what)
		}
	}
}

// connect connects as a user, and keeps what the server refuses.
func (f *flock) connect(user string) (*nats.Conn, *log) {
	f.t.Helper()
	refused := new(log)
	nc, err := nats.Connect(f.url, nats.UserInfo(user, passwords[user]),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			_, _ = refused.Write([]byte(err.Error() + "\n"))
		}))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(nc.Close)
	return nc, refused
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

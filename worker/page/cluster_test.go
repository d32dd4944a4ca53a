package page_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/deploy/local/logtest"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
	"github.com/bellwether-compute/bellwether/worker"
)

func TestMain(m *testing.M) {
	if url := os.Getenv("PAGE_TEST_WORKER"); url != "" {
		runWorker(url)
		return
	}
	http.DefaultTransport.(*http.Transport).DisableKeepAlives = true // an idle connection would count as a leak
	goleak.VerifyTestMain(closing{m})
}

// steps is a job that counts its partitions. Partitions from Hold on wait until the file Release
// exists.
var steps = jobs.MustNew(jobs.Definition[stepsParams, uint64, stepsResult]{
	Name: "steps", Version: "1", Defaults: stepsParams{Partitions: 1, Hold: 1 << 62, Fail: 1 << 62},
	Plan: func(_ context.Context, p stepsParams) (jobs.Plan, error) {
		return jobs.Plan{Partitions: p.Partitions}, nil
	},
	Open:  func(_ context.Context, p stepsParams, _ jobs.Plan) (jobs.Mapper[uint64], error) { return p, nil },
	Merge: func(left, right uint64) (uint64, error) { return left + right, nil },
	Finish: func(_ context.Context, _ stepsParams, root uint64) (stepsResult, error) {
		return stepsResult{Count: root, Note: "</script><script>alert(1)</script>"}, nil
	},
})

type stepsParams struct {
	Partitions uint64        `json:"partitions"`
	Sleep      time.Duration `json:"sleep"`
	Hold       uint64        `json:"hold"`
	Release    string        `json:"release"`
	Fail       uint64        `json:"fail"` // the partition that fails
}

type stepsResult struct {
	Count uint64 `json:"count"`
	Note  string `json:"note"`
}

func (p stepsParams) Map(ctx context.Context, partition uint64) (uint64, error) {
	if partition == p.Fail {
		return 0, fmt.Errorf("partition %d has no <input>", partition)
	}
	for wait := p.Sleep; ; wait = 10 * time.Millisecond {
		if wait > 0 {
			select {
			case <-ctx.Done():
				return 0, ctx.Err()
			case <-time.After(wait):
			}
		}
		if partition < p.Hold {
			return 1, nil
		}
		if _, err := os.Stat(p.Release); err == nil {
			return 1, nil
		}
	}
}

// blocks is a job with partials of 300 KB. The merge that returns the root waits until the file
// Release exists. Each partial begins with the number of its partitions, the number of the job's
// partitions, and the name of the file.
var blocks = jobs.MustNew(jobs.Definition[blocksParams, []byte, string]{
	Name: "blocks", Version: "1", Defaults: blocksParams{Partitions: 1}, Codec: jobs.Raw{},
	Plan: func(_ context.Context, p blocksParams) (jobs.Plan, error) {
		return jobs.Plan{Partitions: p.Partitions}, nil
	},
	Open: func(_ context.Context, p blocksParams, _ jobs.Plan) (jobs.Mapper[[]byte], error) { return p, nil },
	Merge: func(left, right []byte) ([]byte, error) {
		left[0] += right[0]
		for release := string(left[2:bytes.IndexByte(left, '\n')]); left[0] == left[1]; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(release); err == nil {
				break
			}
		}
		return left, nil
	},
	Finish: func(context.Context, blocksParams, []byte) (string, error) { return "merged", nil },
})

type blocksParams struct {
	Partitions uint64        `json:"partitions" min:"1"`
	Sleep      time.Duration `json:"sleep"`
	Release    string        `json:"release"`
}

const blockSize = 300_000

func (p blocksParams) Map(ctx context.Context, _ uint64) ([]byte, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(p.Sleep):
	}
	block := append([]byte{1, byte(p.Partitions)}, p.Release+"\n"...)
	return append(block, make([]byte, blockSize-len(block))...), nil
}

// testCluster is a NATS server and workers in this process.
type testCluster struct {
	t       testing.TB
	cfg     cluster.Config
	client  *client.Client
	release string // file that releases held partitions
}

func newCluster(t testing.TB) *testCluster {
	t.Helper()
	server := natstest.Start(t, natsserver.Config{})
	c := &testCluster{t: t, release: t.TempDir() + "/release"}
	c.cfg.NATS.URL = server.URL()
	var err error
	if c.client, err = client.Connect(t.Context(), client.Config{Cluster: c.cfg, Timeout: patience}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.client.Close)
	return c
}

// start starts a worker and returns the URL of its page.
func (c *testCluster) start(slots int, edit func(*worker.Config)) string {
	c.t.Helper()
	log := &logtest.Log{}
	cfg := workerConfig(c.cfg, slots, slog.New(slog.NewTextHandler(log, nil)))
	cfg.HTTP = "127.0.0.1:0"
	if edit != nil {
		edit(&cfg)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx, cfg) }()
	c.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			c.t.Errorf("worker ended with %v", err)
		}
	})
	form := regexp.MustCompile(`msg="Serving health and metrics".* address=(\S+)`)
	var address []string
	c.until("the worker serves its page", func() bool {
		address = form.FindStringSubmatch(log.String())
		return address != nil
	})
	return "http://" + address[1]
}

// startProcess starts a worker in a separate process, without a page. The returned function kills
// the process.
func (c *testCluster) startProcess() (kill func()) {
	c.t.Helper()
	program, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	process := exec.Command(program)
	process.Env = append(os.Environ(), "PAGE_TEST_WORKER="+c.cfg.NATS.URL)
	if _, err := process.StdinPipe(); err != nil { // the worker ends with this process
		c.t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		c.t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = process.Process.Kill()
		_ = process.Wait() // the process was killed
	})
	c.t.Cleanup(kill)
	return kill
}

func workerConfig(where cluster.Config, slots int, log *slog.Logger) worker.Config {
	return worker.Config{Cluster: where, Jobs: []jobs.Job{steps, blocks}, Slots: slots, Version: "v1.2.3", Logger: log}
}

// runWorker runs a worker until the process is killed or its standard input ends.
func runWorker(url string) {
	where := cluster.Config{NATS: cluster.NATS{URL: url}}
	go func() {
		if err := worker.Run(context.Background(), workerConfig(where, 1, slog.New(slog.DiscardHandler))); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin) // wait until the test ends
}

const patience = 3 * time.Minute

func (c *testCluster) until(what string, holds func() bool) {
	c.t.Helper()
	for began := time.Now(); !holds(); {
		waited := time.Since(began)
		if waited > patience {
			c.t.Fatalf("waited %v until %s", patience, what)
		}
		time.Sleep(min(20*time.Millisecond+waited/20, 200*time.Millisecond)) // a check takes processor time from the workers
	}
}

func (c *testCluster) submit(p stepsParams, options client.SubmitOptions) string {
	c.t.Helper()
	p.Release = c.release
	if p.Hold == 0 {
		p.Hold = 1 << 62
	}
	if p.Fail == 0 {
		p.Fail = 1 << 62
	}
	return c.submitJob(steps, p, options)
}

// submitBlocks submits the job blocks.
func (c *testCluster) submitBlocks(partitions uint64) string {
	c.t.Helper()
	return c.submitJob(blocks, blocksParams{Partitions: partitions, Sleep: 100 * time.Millisecond, Release: c.release}, client.SubmitOptions{})
}

func (c *testCluster) submitJob(job jobs.Job, p any, options client.SubmitOptions) string {
	c.t.Helper()
	params, err := job.EncodeParams(p)
	if err != nil {
		c.t.Fatal(err)
	}
	options.Params = params
	id, err := c.client.Submit(c.t.Context(), job, options)
	if err != nil {
		c.t.Fatal(err)
	}
	return id
}

// poison sends an invalid submission to the queue, waits until the API lists it, and returns its
// name.
func (c *testCluster) poison(api string) string {
	c.t.Helper()
	queue, err := jetstream.Open(c.t.Context(), c.client.Conn(), jetstream.Config{Cluster: "default"})
	if err != nil {
		c.t.Fatal(err)
	}
	if err := queue.Send(c.t.Context(), []byte("<garbage>")); err != nil {
		c.t.Fatal(err)
	}
	var list poisonedAnswer
	c.until("the message is poisoned", func() bool { return c.get(api+"poisoned?limit=1", &list) == 200 && len(list.Poisoned) == 1 })
	return list.Poisoned[0].Name
}

func (c *testCluster) letEnd(id string) {
	c.t.Helper()
	if err := os.WriteFile(c.release, nil, 0o600); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.client.Wait(c.t.Context(), id); err != nil {
		c.t.Fatal(err)
	}
}

// get reads an answer of the API and returns the HTTP status.
func (c *testCluster) get(url string, answer any) int {
	c.t.Helper()
	return c.do("GET", url, "", answer)
}

func (c *testCluster) do(method, url, token string, answer any) int {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, url, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if text, ok := answer.(*string); ok {
		*text = string(body)
	} else if err := json.Unmarshal(body, answer); err != nil {
		c.t.Fatalf("%s: %v in %.500s", url, err, body)
	}
	return response.StatusCode
}

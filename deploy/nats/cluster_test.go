package nats_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/probe"
)

// TestClusterWorks runs workers with each configuration, and performs all allowed actions of
// submitters, observers and operators.
func TestClusterWorks(t *testing.T) {
	t.Run("jetstream", func(t *testing.T) {
		c := startServer(t, "user: worker\n", auditor+"user: worker\n")
		_, received := c.audit(t)
		c.startWorkers(2)
		c.use()
		c.checkUsed(received)
		c.checkNothingRefused()
	})
	t.Run("narrow", func(t *testing.T) {
		c := startServer(t, narrow...)
		c.startWorkers(1)
		c.checkReadsAreBound(c.use())
		c.checkNothingRefused()
	})
	t.Run("azure", func(t *testing.T) {
		t.Setenv("AZURE_STORAGE_CONNECTION_STRING", azuritetest.Server(t).ConnectionString())
		c := startServer(t, azure...)
		c.flags = []string{"--storage", "azure"}
		c.startWorkers(2)
		c.use()
		c.checkNothingRefused()
	})
	t.Run("earlier version", func(t *testing.T) { // clients cannot receive announcements of ends
		c := startServer(t,
			`{ stream: "bellwether.default.ended.*", accounts: [ASK] }`, "",
			`{ stream: { account: WORK, subject: "bellwether.default.ended.*" } }`, "",
			`subscribe: ["_INBOX.>", "bellwether.default.ended.*"]`, `subscribe: "_INBOX.>"`)
		c.startWorkers(1)
		c.use()
		c.checkNothingRefused()
	})
	t.Run("another name", func(t *testing.T) { // apply the edit of README.md
		c := startServer(t, "bellwether.default", "bellwether.blue-1", "bellwether-default", "bellwether-blue-1", "bellwether_default", "bellwether_blue-1")
		c.flags = []string{"--cluster", "blue-1"}
		c.startWorkers(1)
		var done outcome
		c.must(submitter, &done, "submit", "probe", "-p", "partitions=10", "--wait")
		if done.State != "completed" {
			t.Errorf("got %+v", done)
		}
		c.checkNothingRefused()
	})
}

// TestCertificateIsChecked connects without the certificate of the server's authority.
func TestCertificateIsChecked(t *testing.T) {
	c := startServer(t)
	t.Setenv("NATS_CA", "")
	nc, err := nats.Connect(c.url, nats.UserInfo(worker, passwords[worker]))
	if err == nil {
		nc.Close()
		t.Error("connected to a server whose authority is unknown")
	}
	var errs strings.Builder
	if status := c.run(t.Context(), worker, &errs, &errs, "leader"); status != 3 || !strings.Contains(errs.String(), "--tlsca") {
		t.Errorf("status %d: %s; want a hint at --tlsca", status, &errs)
	}
}

// cluster consists of one or more servers with workers in this process.
type cluster struct {
	t     *testing.T
	url   string
	flags []string // flags of every command
	logs  []*log   // logs of the workers
}

func (c *cluster) startWorkers(n int) {
	c.t.Helper()
	for range n {
		ctx, stop := context.WithCancel(context.Background())
		out := new(log)
		c.logs = append(c.logs, out)
		ended := make(chan int, 1)
		go func() { ended <- c.run(ctx, worker, out, out, "worker", "--slots", "1", "--allow", "probe") }()
		c.t.Cleanup(func() {
			stop()
			if status := <-ended; status != 0 {
				c.t.Errorf("a worker ended with status %d:\n%s", status, out)
			}
		})
	}
	c.until("all workers have joined", func() bool {
		var list []json.RawMessage
		return c.ask(submitter, &list, "workers") == nil && len(list) == n
	})
}

// run runs a command as a user, or without a user.
func (c *cluster) run(ctx context.Context, user string, out, errs io.Writer, args ...string) int {
	flags := append([]string{"--nats", c.url, "--reply-timeout", "10s"}, c.flags...)
	if user != "" {
		flags = append(flags, "--user", user, "--password", passwords[user])
	}
	streams := cli.Streams{In: strings.NewReader(""), Out: out, Err: errs}
	return cli.Run(ctx, append(flags, args...), streams, jobs.MustNew(probe.Definition), jobs.MustNew(bulky))
}

// bulky is a job with a result that does not fit into one message.
var bulky = jobs.Definition[struct{}, int, string]{
	Name: "bulky", Version: "1", Summary: "has a large result",
	Plan:   func(context.Context, struct{}) (jobs.Plan, error) { return jobs.Plan{Partitions: 4}, nil },
	Open:   func(context.Context, struct{}, jobs.Plan) (jobs.Mapper[int], error) { return one{}, nil },
	Merge:  func(left, right int) (int, error) { return left + right, nil },
	Finish: func(_ context.Context, _ struct{}, n int) (string, error) { return strings.Repeat("baa ", n<<17), nil },
}

type one struct{}

func (one) Map(context.Context, uint64) (int, error) { return 1, nil }

// outcome is the output of commands about a job.
type outcome struct {
	ID, State, SHA256 string
	Partitions        uint64
	Epoch             uint64
}

// ask runs a command as a user and decodes its output.
func (c *cluster) ask(user string, answer any, args ...string) error {
	var out, errs bytes.Buffer
	if status := c.run(c.t.Context(), user, &out, &errs, append(args, "-o", "json")...); status != 0 {
		return fmt.Errorf("%s: %v: status %d: %s", user, args, status, &errs)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(out.Bytes(), answer)
}

func (c *cluster) must(user string, answer any, args ...string) {
	c.t.Helper()
	if err := c.ask(user, answer, args...); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) until(what string, holds func() bool) {
	c.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		began := time.Now()
		if holds() {
			return
		}
		if time.Now().After(deadline) {
			for _, l := range c.logs {
				c.t.Log(l)
			}
			c.t.Fatalf("timed out waiting until %s", what)
		}
		time.Sleep(min(9*time.Since(began), time.Second)) // commands take processor time from the workers
	}
}

// use lets each user perform every action that README.md allows. use returns the ID of a job that
// completed.
func (c *cluster) use() string {
	t := c.t
	t.Helper()
	var here, done, got outcome
	c.must("", &here, "run", "probe", "-p", "partitions=1000")
	c.must(submitter, &done, "submit", "probe", "-p", "partitions=1000", "--wait")
	if done.State != "completed" || done.Partitions != 1000 || done.SHA256 != here.SHA256 {
		t.Fatalf("got %+v, in one process %+v", done, here)
	}
	for _, user := range []string{submitter, observer} {
		var list, history []outcome
		c.must(user, &got, "result", done.ID)
		c.must(user, &list, "list")
		c.must(user, &history, "history")
		if got.SHA256 != done.SHA256 || len(list) != 1 || list[0].ID != done.ID || len(history) != 1 {
			t.Errorf("%s: result %+v, list %+v, history %+v", user, got, list, history)
		}
		c.must(user, &got, "status", done.ID)
		c.must(user, nil, "watch", done.ID)
		c.must(user, &got, "leader")
	}
	// Large partials and a large result do not fit into one message.
	c.must(submitter, &got, "submit", "probe", "-p", "partitions=20", "-p", "partial-size=1100000", "--wait")
	c.must(submitter, &got, "submit", "bulky", "--wait")
	if got.State != "completed" {
		t.Errorf("large result: %+v", got)
	}

	var long outcome
	c.must(submitter, &long, "submit", "probe", "-p", "partitions=1000000", "-p", "sleep=20ms")
	c.until("the long job runs", func() bool {
		c.must(observer, &got, "status", long.ID)
		return got.State == "running"
	})
	if status := c.run(t.Context(), observer, io.Discard, io.Discard, "cancel", long.ID, "--reply-timeout", "500ms"); status != 3 {
		t.Errorf("an observer's cancel: status %d, want 3", status)
	}
	c.must(submitter, nil, "cancel", long.ID)
	c.must(submitter, &got, "status", long.ID)
	if got.State != "cancelled" {
		t.Errorf("after cancel: %+v", got)
	}

	c.must(worker, nil, "leader", "step-down")
	c.until("the next term has begun", func() bool { return c.ask(submitter, &got, "leader") == nil && got.Epoch > 1 })
	var removed []outcome
	c.must(worker, &removed, "remove", long.ID)
	if len(removed) != 1 {
		t.Errorf("removed: %+v", removed)
	}
	return done.ID
}

// checkUsed checks that workers have used each of their permissions to publish.
func (c *cluster) checkUsed(received chan *nats.Msg) {
	c.t.Helper()
	sent := map[string]bool{}
	for _, user := range configure(c.t, "server.conf").Users {
		if user.Username != worker {
			continue
		}
		for _, allowed := range user.Permissions.Publish.Allow {
			if strings.Contains(allowed, ".MSG.GET.") {
				continue // only with several servers: see TestServerIsLost
			}
			c.until("a worker publishes "+allowed, func() bool {
				for len(received) > 0 {
					sent[(<-received).Subject] = true
				}
				for subject := range sent {
					if server.SubjectsCollide(subject, allowed) {
						return true
					}
				}
				return false
			})
		}
	}
}

// checkReadsAreBound checks that a submitter, who may read results, cannot read a plan through a
// result's subject, and cannot replace other values through a roll-up of a spec.
func (c *cluster) checkReadsAreBound(id string) {
	c.t.Helper()
	nc := c.connect(c.t, submitter)
	plan := values + "plan." + id
	for _, body := range []string{`{"last_by_subj":"` + plan + `"}`, `{"multi_last":["` + plan + `"]}`, `{"seq":1}`, `{"next_by_subj":"` + plan + `"}`} {
		answer, err := nc.Request(direct+"result."+id, []byte(body), 5*time.Second)
		if err != nil || len(answer.Data) > 0 || answer.Header.Get("Status") != "408" {
			c.t.Errorf("%s: got %+v (%v), want status 408", body, answer, err)
		}
	}
	for _, reach := range []string{"sub", "all"} {
		m := nats.NewMsg(values + "spec." + id)
		m.Header.Set("Nats-Rollup", reach)
		answer, err := nc.RequestMsg(m, 5*time.Second)
		if err != nil || !strings.Contains(string(answer.Data), "rollup not permitted") {
			c.t.Errorf("roll-up of %s: got %+v (%v)", reach, answer, err)
		}
	}
}

// checkNothingRefused checks that the server refused no message of the workers.
func (c *cluster) checkNothingRefused() {
	c.t.Helper()
	for _, l := range c.logs {
		if strings.Contains(strings.ToLower(l.String()), "permissions violation") {
			c.t.Errorf("the configuration lacks a permission that workers need:\n%s", l)
		}
	}
}

// log collects the output of several goroutines.
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

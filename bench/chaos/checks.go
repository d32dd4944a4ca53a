//go:build unix

package chaos

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	natsjetstream "github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/azure"
	azureaccount "github.com/bellwether-compute/bellwether/jobs/store/azure/account"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
)

// checkStorage looks at what storage has once all jobs have ended.
func (c *cluster) checkStorage() error {
	if err := c.checkList(); err != nil {
		return err
	}
	var poison []struct{ Name, Reason string }
	if err := c.ask(&poison, "list", "--poison"); err != nil {
		return err
	}
	for _, p := range poison {
		c.book.complain("submission %s was put aside: %s", p.Name, p.Reason)
	}
	if c.on == Azure {
		return c.checkAzure()
	}
	return c.checkJetStream()
}

// listed is what list prints of a job.
type listed struct {
	ID     string
	State  store.State
	SHA256 string
}

// checkList looks for jobs that are lost, and for those that nobody ordered or that
// have changed since they ended. Jobs whose submission was not confirmed have run
// like others; those that have not ended are cancelled, since nobody else would.
func (c *cluster) checkList() error {
	var list []listed
	if err := c.ask(&list, "list"); err != nil {
		return err
	}
	found := make(map[string]bool)
	unknown := 0
	for _, j := range list {
		found[j.ID] = true
		if _, known := c.book.jobs[j.ID]; !known {
			unknown++
			c.checkUnconfirmed(j)
		} else if seen, ended := c.book.outcomes[j.ID]; ended && (j.State != seen.State || j.SHA256 != seen.SHA256) {
			c.book.complain("job %s ended %s (%s) and is %s (%s) now", j.ID, seen.State, seen.SHA256, j.State, j.SHA256)
		}
	}
	for id, o := range c.book.jobs {
		if !found[id] {
			c.book.complain("job %s (%s) is lost", id, o.name)
		}
	}
	if half := len(c.book.half); unknown > half {
		c.book.complain("%d jobs are listed whose submission was not confirmed, %d submissions were not", unknown, half)
	}
	return nil
}

func (c *cluster) checkUnconfirmed(j listed) {
	c.book.note("not confirmed when it was submitted: %s, %s", j.ID, j.State)
	if !j.State.Final() {
		var answer struct{}
		if err := c.ask(&answer, "cancel", j.ID); err != nil {
			c.book.note("not cancelled: %v", err)
		}
		return
	}
	if j.State == store.Completed && !slices.ContainsFunc(c.book.half, func(o order) bool {
		want, err := c.reference(o)
		return err == nil && want.SHA256 == j.SHA256
	}) {
		c.book.complain("job %s has the result %s, which is that of no order", j.ID, j.SHA256)
	}
}

// contents is what a driver's storage is checked for.
type contents struct {
	blobs    store.Blobs
	messages func(context.Context) (int, error) // in the queue, visible or not
	chunks   func(context.Context) (int, error) // of large values
}

func (c *cluster) checkJetStream() error {
	nc, err := nats.Connect(c.nats.url())
	if err != nil {
		return err
	}
	defer nc.Close()
	driver, err := jetstream.Open(c.ctx, nc, jetstream.Config{Cluster: clusterName})
	if err != nil {
		return err
	}
	js, err := natsjetstream.New(nc)
	if err != nil {
		return err
	}
	in := func(name string) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			stream, err := js.Stream(ctx, "bellwether-"+clusterName+"-"+name)
			if err != nil {
				return 0, err
			}
			return int(stream.CachedInfo().State.Msgs), nil
		}
	}
	return c.checkContents(contents{blobs: driver, messages: in("queue"), chunks: in("large")})
}

func (c *cluster) checkAzure() error {
	account, err := azureaccount.Open(azureaccount.Config{ConnectionString: c.azurite.server.ConnectionString()})
	if err != nil {
		return err
	}
	defer account.Close()
	driver, err := azure.Open(account, azure.Config{Cluster: clusterName})
	if err != nil {
		return err
	}
	queue, err := account.Queue(azure.Name(clusterName), azureaccount.Retry{Within: answerWithin})
	if err != nil {
		return err
	}
	return c.checkContents(contents{
		blobs: driver,
		messages: func(ctx context.Context) (int, error) {
			properties, err := queue.GetProperties(ctx, nil)
			if err != nil {
				return 0, err
			}
			return int(*properties.ApproximateMessagesCount), nil
		},
		chunks: func(context.Context) (int, error) { return 0, nil }, // a value is one blob
	})
}

// checkContents waits until nothing is left that a job that has ended must not
// leave: a leader tidies up after it has told of the end.
func (c *cluster) checkContents(in contents) error {
	listed := func(prefix string) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			keys, err := in.blobs.List(ctx, prefix)
			return len(keys), err
		}
	}
	if err := c.until("the index is empty", func() bool { return c.none(listed("active/")) }); err != nil {
		return err
	}
	if err := c.until("the queue is empty", func() bool { return c.none(in.messages) }); err != nil {
		return err
	}
	left, allowed := 0, 0
	for id, o := range c.book.jobs {
		n, err := listed("partial/" + id + "/")(c.ctx)
		if err != nil {
			return err
		}
		left += n
		most := c.spared(id, o)
		allowed = max(allowed, most)
		if n > most {
			c.book.complain("%d partials of job %s (%s) are left, %d may be", n, id, o.name, most)
		}
	}
	chunks, err := in.chunks(c.ctx)
	if err != nil {
		return err
	}
	if chunks > 0 && allowed == 0 {
		c.book.complain("%d chunks of partials are left", chunks)
	}
	c.book.note("left: %d partials, %d chunks: see the known exceptions", left, chunks)
	return nil
}

func (c *cluster) none(count func(context.Context) (int, error)) bool {
	n, err := count(c.ctx)
	return err == nil && n == 0
}

// spared is how many partials may be left of a job: see the known exceptions. A job
// ends a little earlier for its leader than for its workers.
func (c *cluster) spared(id string, o order) (n int) {
	const later = 5 * time.Second
	if !o.large {
		return 0
	}
	begun := c.book.begun[id]
	if c.on == JetStream && c.book.crash.After(begun) {
		return math.MaxInt
	}
	for _, at := range c.book.deaths {
		if at.After(begun) && at.Before(c.book.outcomes[id].Finished.Add(later)) {
			n++
		}
	}
	return n
}

// checkRemains looks at what is left on this machine when all has ended.
func (c *cluster) checkRemains() {
	for _, pid := range c.book.pids {
		if err := syscall.Kill(-pid, 0); !errors.Is(err, syscall.ESRCH) {
			c.book.complain("process %d, or one that it started, is left", pid)
		}
	}
	files, err := os.ReadDir(c.dir.temporary)
	if err != nil {
		c.book.complain("%w", err)
	}
	for _, f := range files {
		c.book.complain("file %s is left", f.Name())
	}
	ordered, err := filepath.Glob(filepath.Join(c.dir.once, "*", "exit-*"))
	if err != nil {
		c.book.complain("%w", err)
	}
	if c.book.exits > len(ordered) {
		c.book.complain("%d processes ended with the status of those that a job ends, but jobs ended %d", c.book.exits, len(ordered))
	}
	c.checkLogs()
}

// checkLogs looks for what no process may write.
func (c *cluster) checkLogs() {
	files, err := filepath.Glob(filepath.Join(c.dir.logs, "*"))
	if err != nil {
		c.book.complain("%w", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			c.book.complain("%w", err)
		}
		for line := range bytes.Lines(text) {
			for _, never := range []string{"DATA RACE", "| panic: ", "| fatal error: "} {
				if strings.Contains(string(line), never) {
					c.book.complain("%s: %s", filepath.Base(name), bytes.TrimSpace(line))
				}
			}
		}
	}
}

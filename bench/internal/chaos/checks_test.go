//go:build unix

package chaos

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	natsjetstream "github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/azure"
	azureaccount "github.com/bellwether-compute/bellwether/jobs/store/azure/account"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
)

func (c *cluster) checkStorage() error {
	if err := c.checkList(); err != nil {
		return err
	}
	var poison []struct{ Name, Reason string }
	if err := c.ask(&poison, "list", "--poison"); err != nil {
		return err
	}
	for _, p := range poison {
		c.history.violation("submission %s is on the poison list: %s", p.Name, p.Reason)
	}
	if c.Storage == Azure {
		return c.checkAzure()
	}
	return c.checkJetStream()
}

type listed struct {
	ID     string
	State  store.State
	SHA256 string
}

// checkList records a violation for each job that is missing, that no client submitted, or that
// changed after it had ended. checkList also checks each job whose submission was not acknowledged,
// and cancels such a job if it has not ended.
func (c *cluster) checkList() error {
	var list []listed
	if err := c.ask(&list, "list"); err != nil {
		return err
	}
	found := make(map[string]bool)
	unknown := 0
	for _, j := range list {
		found[j.ID] = true
		if _, known := c.history.jobs[j.ID]; !known {
			unknown++
			c.checkUnconfirmed(j)
		} else if seen, ended := c.history.outcomes[j.ID]; ended && (j.State != seen.State || j.SHA256 != seen.SHA256) {
			if c.history.mayBeLost(j.ID) && (j.SHA256 == "" || j.SHA256 == seen.SHA256) {
				c.history.note("damage took the end of job %s: it is %s now", j.ID, j.State)
				continue
			}
			c.history.violation("job %s ended %s (%s) and is %s (%s) now", j.ID, seen.State, seen.SHA256, j.State, j.SHA256)
		}
	}
	for id, o := range c.history.jobs {
		switch {
		case found[id]:
		case c.history.mayBeLost(id):
			c.history.note("damage took job %s (%s)", id, o.name)
		default:
			c.history.violation("job %s (%s) is lost", id, o.name)
		}
	}
	if half := len(c.history.unconfirmed); unknown > half {
		c.history.violation("%d jobs are listed without an acknowledged submission, but only %d submissions were not acknowledged", unknown, half)
	}
	return nil
}

func (c *cluster) checkUnconfirmed(j listed) {
	c.history.note("submission not acknowledged: %s, %s", j.ID, j.State)
	if !j.State.Final() {
		var answer struct{}
		if err := c.ask(&answer, "cancel", j.ID); err != nil {
			c.history.note("not cancelled: %v", err)
		}
		return
	}
	if j.State == store.Completed && !slices.ContainsFunc(c.history.unconfirmed, func(o op) bool {
		want, err := c.reference(o)
		return err == nil && want.SHA256 == j.SHA256
	}) {
		c.history.violation("job %s has the result %s, which no operation has", j.ID, j.SHA256)
	}
}

// contents gives access to the storage of a driver.
type contents struct {
	blobs    store.Blobs
	messages func(context.Context) (int, error) // returns the number of messages in the queue, including hidden ones
	chunks   func(context.Context) (int, error) // returns the number of chunks of large values
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
		chunks: func(context.Context) (int, error) { return 0, nil }, // a large value on Azure is one blob without chunks
	})
}

// checkContents waits until the index and the queue are empty and counts the partials that remain
// in storage. A leader announces the end of a job before it removes the job's data, so the check
// must wait.
func (c *cluster) checkContents(in contents) error {
	listed := func(prefix string) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			keys, err := in.blobs.List(ctx, prefix)
			return len(keys), err
		}
	}
	if err := c.until("the index is empty", func() bool { return c.isEmpty(listed("active/")) }); err != nil {
		return err
	}
	if err := c.until("the queue is empty", func() bool { return c.isEmpty(in.messages) }); err != nil {
		return err
	}
	left, allowed := 0, 0
	for id, o := range c.history.jobs {
		n, err := listed("partial/" + id + "/")(c.ctx)
		if err != nil {
			return err
		}
		left += n
		most := c.partialsAllowed(id, o)
		allowed = max(allowed, most)
		if n > most {
			c.history.violation("%d partials of job %s (%s) are left, %d may be", n, id, o.name, most)
		}
	}
	chunks, err := in.chunks(c.ctx)
	if err != nil {
		return err
	}
	if chunks > 0 && allowed == 0 {
		c.history.violation("%d chunks of partials are left", chunks)
	}
	c.history.note("left: %d partials, %d chunks: see the known exceptions", left, chunks)
	return nil
}

func (c *cluster) isEmpty(count func(context.Context) (int, error)) bool {
	n, err := count(c.ctx)
	return err == nil && n == 0
}

// partialsAllowed returns how many partials of a job may remain in storage. The section "Known
// exceptions" of the package documentation gives the reasons. Processes that died shortly after the
// job's end also count, because workers learn of the end later than the leader.
func (c *cluster) partialsAllowed(id string, o op) (n int) {
	const (
		later        = 5 * time.Second
		writesAtOnce = 3
	)
	switch {
	case c.history.mayBeLost(id): // the end of the job may be lost, or the deletion of the partials
		return math.MaxInt
	case !o.large:
		return 0
	}
	begun := c.history.begun[id]
	if c.Storage != Azure && c.history.crash.After(begun) {
		return math.MaxInt
	}
	n = o.keeps
	for _, at := range c.history.deaths {
		if at.After(begun) && at.Before(c.history.outcomes[id].Finished.Add(later)) {
			n += writesAtOnce
		}
	}
	return n
}

func (c *cluster) checkRemains() {
	for _, pid := range c.history.pids {
		if err := syscall.Kill(-pid, 0); !errors.Is(err, syscall.ESRCH) {
			c.history.violation("process %d, or a child of it, is still running", pid)
		}
	}
	files, err := os.ReadDir(c.dir.temporary)
	if err != nil {
		c.history.violation("%w", err)
	}
	for _, f := range files {
		c.history.violation("file %s is left", f.Name())
	}
	ordered, err := filepath.Glob(filepath.Join(c.dir.once, "*", "exit-*"))
	if err != nil {
		c.history.violation("%w", err)
	}
	if c.history.exits > len(ordered) {
		c.history.violation("%d processes ended with the exit status of jobs, but jobs made %d exit", c.history.exits, len(ordered))
	}
}

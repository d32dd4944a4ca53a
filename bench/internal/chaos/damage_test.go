//go:build unix

package chaos

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// The streams of the cluster, as folders of the NATS server.
const (
	values = "KV_bellwether-" + clusterName
	chunks = "bellwether-" + clusterName + "-large"
	lease  = "KV_bellwether_" + clusterName + "_lease"
)

// damagedFrom is the duration of a run in minutes from which on files are damaged in it, because jobs need time to
// be found again.
const damagedFrom = 0.25

// damages are the faults of the storage Damaged. The server is killed, so that it checks all messages when it starts.
func damages() []fault {
	at := func(stream string, damage func(file string) error) func(*cluster, *node) func() {
		return func(c *cluster, _ *node) func() {
			c.nats.end(syscall.SIGKILL)
			c.history.crashed()
			if err := c.inNewestBlock(stream, damage); err != nil && !errors.Is(err, errNoBlock) {
				c.history.violation("damage: %w", err)
			}
			return func() {
				c.nats.start()
				c.history.damaged() // also what was acknowledged at the moment of the kill may be lost
			}
		}
	}
	const longest = 200 * time.Millisecond
	return []fault{
		{"newest values cut off", natsNode, 0, longest, at(values, cutTo(0.9))},
		{"bit of a value flipped", natsNode, 0, longest, at(values, flipBitAt(0.8))},
		{"bit of a chunk flipped", natsNode, 0, longest, at(chunks, flipBitAt(0.5))},
		{"lease cut off", natsNode, 0, longest, at(lease, cutTo(0))},
	}
}

// isLost reports whether an error of a command names a job as lost, and the loss can be the effect of damage.
func (c *cluster) isLost(id string, err error) bool {
	if err == nil || !strings.Contains(err.Error(), id) || !strings.Contains(err.Error(), "storage has lost it") || !c.history.mayBeLost(id) {
		return false
	}
	c.history.note("lost by damage: %s", id)
	return true
}

func (c *cluster) stream(name string) string {
	return filepath.Join(c.dir.nats, "jetstream", "$G", "streams", name)
}

// errNoBlock means that a stream has stored no message yet.
var errNoBlock = errors.New("the stream has no block")

// inNewestBlock damages the file with the newest messages of a stream.
func (c *cluster) inNewestBlock(stream string, damage func(file string) error) error {
	blocks, err := filepath.Glob(filepath.Join(c.stream(stream), "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		return cmp.Or(err, fmt.Errorf("%s: %w", stream, errNoBlock))
	}
	return damage(slices.MaxFunc(blocks, func(a, b string) int { return len(a) - len(b) + strings.Compare(a, b) }))
}

// cutTo returns a function that cuts off all but a share of a file.
func cutTo(share float64) func(file string) error {
	return func(file string) error {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		return os.Truncate(file, int64(share*float64(info.Size())))
	}
}

// flipBitAt returns a function that changes a bit behind a share of a file.
func flipBitAt(share float64) func(file string) error {
	return func(file string) error {
		data, err := os.ReadFile(file)
		if err != nil || len(data) == 0 {
			return err
		}
		data[int(share*float64(len(data)))] ^= 1
		return os.WriteFile(file, data, 0o600)
	}
}

// TestDamagedFiles damages the files of a NATS server in each way, while jobs run and after jobs have
// ended. Then each job has the right result, or commands say that storage has lost it, and the
// cluster completes new jobs.
func TestDamagedFiles(t *testing.T) {
	for _, test := range []struct {
		name   string
		stop   syscall.Signal
		damage func(c *cluster, older string) error // older is a copy of the stream of values, made while jobs ran
		loses  bool                                 // jobs may be lost
	}{
		{"the newest values are cut off", syscall.SIGKILL, func(c *cluster, _ string) error { return c.inNewestBlock(values, cutTo(0.7)) }, true},
		{"a bit of a value is flipped", syscall.SIGKILL, func(c *cluster, _ string) error { return c.inNewestBlock(values, flipBitAt(0.5)) }, true},
		{"a bit of the lease is flipped in good order", syscall.SIGTERM, func(c *cluster, _ string) error { return c.inNewestBlock(lease, flipBitAt(0.9)) }, false},
		{"the lease is lost", syscall.SIGKILL, func(c *cluster, _ string) error { return os.RemoveAll(c.stream(lease)) }, false},
		{"chunks are cut off", syscall.SIGKILL, func(c *cluster, _ string) error { return c.inNewestBlock(chunks, cutTo(0.5)) }, false},
		{"the index is lost", syscall.SIGTERM, func(c *cluster, _ string) error {
			return os.RemoveAll(filepath.Join(c.stream(values), "msgs", "index.db"))
		}, false},
		{"values are rolled back", syscall.SIGTERM, func(c *cluster, older string) error {
			return errors.Join(os.RemoveAll(c.stream(values)), os.CopyFS(c.stream(values), os.DirFS(older)))
		}, true},
	} {
		t.Run(string(Damaged)+"/"+test.name, func(t *testing.T) {
			if *minutes < damagedFrom {
				t.Skip("only with make chaos STORAGE=damaged")
			}
			t.Parallel()
			c := startSmall(t, 2)
			ended, running := probeOp("ended", 60), probeOp("running", 120, "sleep=20ms")
			running.params = append(running.params, "partial-size=20000")
			large := probeOp("large", 30, "sleep=50ms")
			large.params = append(large.params, "partial-size=700000")
			jobs := map[string]op{}
			submit := func(o op) string {
				id, ok := c.submit(t.Context(), o)
				if !ok {
					t.Fatalf("%s is not submitted", o.name)
				}
				c.history.submitted(id, o)
				jobs[id] = o
				return id
			}
			c.ends(t, submit(ended), ended)
			for _, o := range []op{running, large} {
				c.begins(t, submit(o), o)
			}
			older := t.TempDir()
			if err := os.CopyFS(older, os.DirFS(c.stream(values))); err != nil {
				t.Fatal(err)
			}
			c.ends(t, submit(ended), ended)
			stepDown(c, nil) // so that the epoch is above 1

			c.nats.end(test.stop)
			if err := test.damage(c, older); err != nil {
				t.Fatal(err)
			}
			c.nats.start()
			if test.loses {
				c.history.damaged()
			}
			for id, o := range jobs {
				if !c.ends(t, id, o) {
					t.Logf("lost: %s (%s)", id, o.name)
				}
			}
			if !c.ends(t, submit(ended), ended) {
				t.Error("a job that was submitted after the damage is lost")
			}
		})
	}
}

// begins waits until a partition of a job is done. The job then has a manifest. Without one, it would be found again
// only when its submission is visible in the queue again, which takes minutes.
func (c *cluster) begins(t *testing.T, id string, o op) {
	t.Helper()
	var got struct{ Done uint64 }
	var last error
	for deadline := time.Now().Add(SettleWithin); got.Done == 0; c.pause(retryInterval) {
		if time.Now().After(deadline) {
			t.Fatalf("job %s (%s) has not begun: %v", id, o.name, last)
		}
		last = c.ask(&got, "status", id)
	}
}

// ends waits until a job has ended, and checks its outcome. It returns false if the job is lost.
func (c *cluster) ends(t *testing.T, id string, o op) bool {
	t.Helper()
	var got outcome
	var last error
	for deadline := time.Now().Add(SettleWithin); !got.State.Final(); c.pause(retryInterval) {
		if last = c.ask(&got, "watch", id); c.isLost(id, last) {
			return false
		}
		if time.Now().After(deadline) {
			t.Fatalf("job %s (%s) is %s: %v", id, o.name, got.State, last)
		}
	}
	if got.State != store.Completed {
		t.Errorf("job %s (%s) is %s: %s", id, o.name, got.State, got.Error)
		return true
	}
	c.check(o, got)
	return true
}

// startSmall runs a cluster on JetStream until the test ends, without faults and clients.
func startSmall(t *testing.T, nodes int) *cluster {
	t.Helper()
	dir, err := newFolders(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{
		Config: Config{Storage: JetStream, Program: program, Command: runCommand, Out: t.Output()},
		ctx:    t.Context(), history: newHistory(t.Output()), dir: dir,
		nodes: map[int]*node{}, busy: map[target]bool{}, noNetworks: errors.New("no fault needs one"),
	}
	t.Cleanup(func() {
		c.close()
		if err := errors.Join(c.history.violations...); err != nil {
			t.Error(err)
		}
	})
	if err := c.startWith(nodes); err != nil {
		t.Fatal(err)
	}
	return c
}

package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/deploy/local/azurite"
	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/deploy/local/faults"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
)

// faultyCluster is a cluster with workers in the test's process. The workers reach Azurite and NATS
// through proxies that inject faults.
type faultyCluster struct {
	*testCluster
	storage *faults.Transport // injects faults into requests to storage
	blobs   *faults.TCPProxy  // injects faults into connections for blobs
	queues  *faults.TCPProxy  // injects faults into connections for queues
	faulty  []string          // flags that select storage through the proxies
	running []*inProcess
	writes  manifestWrites
}

// inProcess is a worker in this process.
type inProcess struct {
	id   string
	nats *faults.TCPProxy
}

// newFaultyCluster starts three workers.
func newFaultyCluster(t *testing.T) *faultyCluster {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long")
	}
	at := onAzure.start(t)
	c := &faultyCluster{testCluster: newCommander(t, at.nats, newClusterName(), at.flags)}
	azurites := azuritetest.Server(t)
	var err error
	if c.storage, err = faults.New(azurites.QueueURL()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.storage.Close)
	c.storage.SetObserver(c.writes.observe)
	c.blobs, c.queues = c.proxy(azurites.BlobURL()), c.proxy(azurites.QueueURL())
	c.faulty = azureAt(t, azurite.ConnectionString(
		"http://"+c.blobs.Address()+"/"+azurite.AccountName, "http://"+c.queues.Address()+"/"+azurite.AccountName))
	return c
}

// proxy returns a TCP proxy to an HTTP proxy of a storage endpoint.
func (c *faultyCluster) proxy(endpoint string) *faults.TCPProxy {
	c.t.Helper()
	handler, err := c.storage.Handler(endpoint)
	if err != nil {
		c.t.Fatal(err)
	}
	proxy := httptest.NewServer(handler)
	c.t.Cleanup(proxy.Close)
	return c.link(proxy.URL)
}

func (c *faultyCluster) link(to string) *faults.TCPProxy {
	c.t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		c.t.Fatal(err)
	}
	link, err := faults.NewTCPProxy(u.Host)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = link.Close() })
	return link
}

var selfForm = regexp.MustCompile(`self=([a-z0-9-]+)`)

// join starts workers without waiting until a leader knows them.
func (c *faultyCluster) join(n int) {
	c.t.Helper()
	for range n {
		m := &inProcess{nats: c.link(c.url)}
		output := newTestOutput(c.t)
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan int, 1)
		go func() {
			ended <- cli.Run(ctx, append([]string{
				"worker", "--slots", "1", "--log-format", "text", "--nats", "nats://" + m.nats.Address(), "--cluster", c.cluster,
			}, c.faulty...), cli.Streams{In: strings.NewReader(""), Out: output, Err: output}, jobs.MustNew(squares))
		}()
		c.t.Cleanup(func() { // runs before the proxies are closed
			stop()
			if status := <-ended; status != 0 {
				c.t.Errorf("a worker ended with status %d", status)
			}
		})
		m.id = output.await(selfForm)
		c.running = append(c.running, m)
	}
}

func (c *faultyCluster) worker(id string) *inProcess {
	c.t.Helper()
	for _, m := range c.running {
		if m.id == id {
			return m
		}
	}
	c.t.Fatalf("no worker has the ID %s", id)
	return nil
}

// awaitLeaderAfter waits until a leader has a higher epoch.
func (c *faultyCluster) awaitLeaderAfter(epoch uint64) {
	c.t.Helper()
	c.until(fmt.Sprintf("there is a leader after epoch %d", epoch), func() bool {
		var now leaderAnswer
		return c.ask(&now, "leader") == 0 && now.Epoch > epoch
	})
}

// manifestWrites records the successful writes of manifests.
type manifestWrites struct {
	mu   sync.Mutex
	list []manifestWrite
}

type manifestWrite struct {
	key        string
	over, etag string
	body       []byte
}

func (w *manifestWrites) observe(kind account.Kind, r *http.Request, body []byte, answer *http.Response) {
	_, key, found := strings.Cut(r.URL.Path, "/manifest/")
	if kind != account.PutBlob || !found || answer.StatusCode != http.StatusCreated {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, manifestWrite{"manifest/" + key, r.Header.Get("If-Match"), answer.Header.Get("ETag"), body})
}

// check verifies all versions of the manifest from the first to the last. After an epoch has
// written a manifest, no lower epoch may write one.
func (w *manifestWrites) check(t *testing.T, id string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	blobs := memory.NewBlobs()
	read := store.New(store.Config{Blobs: blobs})
	next := make(map[string]manifestWrite)
	for _, write := range w.list {
		if _, twice := next[write.over]; twice {
			t.Errorf("version %q was replaced twice", write.over)
		}
		next[write.over] = write
	}
	var last store.Manifest
	n := 0
	for write, found := next[""]; found; write, found = next[write.etag] {
		n++
		if _, err := blobs.Put(t.Context(), write.key, write.body, store.Always); err != nil {
			t.Fatal(err)
		}
		m, _, err := read.Manifest(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if m.Epoch < last.Epoch || m.Sequence != last.Sequence+1 {
			t.Errorf("epoch %d wrote sequence %d over epoch %d's sequence %d", m.Epoch, m.Sequence, last.Epoch, last.Sequence)
		}
		last = m
	}
	if n == 0 || n != len(w.list) {
		t.Errorf("%d manifests were written, %d of them follow one another", len(w.list), n)
	}
}

// sometimes injects one of the faults into one in three requests.
func sometimes(t *testing.T, injected []faults.Fault) faults.Decide {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var mu sync.Mutex
	chance := rand.New(rand.NewPCG(seed, 0))
	return func(account.Kind, *http.Request) faults.Fault {
		mu.Lock()
		defer mu.Unlock()
		if chance.IntN(3) > 0 {
			return faults.Fault{}
		}
		return injected[chance.IntN(len(injected))]
	}
}

// oneLostReceive loses the answer to a receive of submissions at most once. Each lost answer
// hides the submission for 30 s, and two in a row take longer than a test waits.
func oneLostReceive(decide faults.Decide) faults.Decide {
	var lost atomic.Bool
	return func(kind account.Kind, r *http.Request) faults.Fault {
		fault := decide(kind, r)
		if fault.LoseAnswer && kind == account.ReceiveMessages && lost.Swap(true) {
			return faults.Fault{}
		}
		return fault
	}
}

// faultyParams are the parameters of a job for which three workers need 6 s.
var faultyParams = []string{"n=3000", "width=5", "sleep=30ms"}

// TestSlowStorage delays each request by 1 s.
func TestSlowStorage(t *testing.T) {
	t.Parallel()
	changeLeaders(t, faults.Always(faults.Fault{Delay: time.Second}))
}

// TestRefusedWrites refuses one in three conditional writes.
func TestRefusedWrites(t *testing.T) {
	t.Parallel()
	refuse := sometimes(t, []faults.Fault{{Status: 412, Code: "ConditionNotMet"}})
	changeLeaders(t, func(kind account.Kind, r *http.Request) faults.Fault {
		if r.Header.Get("If-Match")+r.Header.Get("If-None-Match") == "" {
			return faults.Fault{}
		}
		return refuse(kind, r)
	})
}

// TestFaultyStorage injects a fault into one in three requests. Errors of the service are drawn from three.
func TestFaultyStorage(t *testing.T) {
	t.Parallel()
	for name, injected := range map[string][]faults.Fault{
		"reset":       {{Reset: true}},
		"lost answer": {{LoseAnswer: true}},
		"refused": {
			{Status: 500, Code: "InternalError"},
			{Status: 503, Code: "ServerBusy", RetryAfter: 1},
			{Status: 429, Code: "TooManyRequests", RetryAfter: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changeLeaders(t, oneLostReceive(sometimes(t, injected)))
		})
	}
}

// changeLeaders changes the leader twice while storage is unreliable: by a handover, and by
// cutting the leader off from NATS.
func changeLeaders(t *testing.T, decide faults.Decide) {
	t.Helper()
	c := newFaultyCluster(t)
	c.storage.Set(decide)
	c.join(3)
	id := c.submitHeld(faultyParams...)
	c.awaitDone(id, 30)
	var next leaderAnswer
	if status := c.ask(&next, "leader", "step-down"); status != 0 {
		t.Logf("step-down: status %d", status) // the answer may come too late if storage is slow
	}
	c.awaitDone(id, 200)
	before := c.leader()
	cut := c.worker(before.Worker)
	cut.nats.Stall()
	cut.nats.Reset()
	c.awaitLeaderAfter(before.Epoch)
	cut.nats.Resume()
	got := c.finish(id, faultyParams...)
	c.storage.Set(nil)
	t.Logf("epochs %v, %d partitions repeated", got.Epochs, got.Repeated)
	c.writes.check(t, id)
}

// TestStorageOutage stalls storage for longer than the lease. During the outage there is no leader,
// and commands report the reason. When storage is available again, the job continues.
func TestStorageOutage(t *testing.T) {
	t.Parallel()
	c := newFaultyCluster(t)
	c.join(3)
	id := c.submitHeld(faultyParams...)
	c.awaitDone(id, 50)
	before := c.leader()
	c.blobs.Stall()
	c.queues.Stall()

	var out, errs bytes.Buffer
	args := append([]string{"status", id, "--nats", c.url, "--cluster", c.cluster, "--reply-timeout", "1s"}, c.faulty...)
	begun := time.Now()
	status := cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, jobs.MustNew(squares))
	if status != 3 || !strings.Contains(errs.String(), "storage of cluster "+c.cluster+" does not answer") {
		t.Errorf("status: %d, %s%s", status, out.Bytes(), errs.Bytes())
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("status took %v to say so", took)
	}
	c.until("there is no leader", func() bool {
		var now leaderAnswer
		return c.ask(&now, "leader", "--reply-timeout", "1s") == 3
	})
	c.blobs.Resume()
	c.queues.Resume()
	got := c.finish(id, faultyParams...)
	if last := got.Epochs[len(got.Epochs)-1]; last <= before.Epoch {
		t.Errorf("epochs: got %v, want one after %d", got.Epochs, before.Epoch)
	}
	c.writes.check(t, id)
}

package election_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/machine"
	"github.com/bellwether-compute/bellwether/election/memlease"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

const (
	duration = 15 * time.Second
	window   = duration - 2*time.Second
	latency  = time.Millisecond // latency of a message in one direction, and of a call to storage
)

// cluster is a cluster of workers in one synctest bubble: their network, their storage, and the
// list of all terms.
type cluster struct {
	t       *testing.T
	storage *memlease.Storage
	adjust  func(*election.Config)

	mu        sync.Mutex
	processes []*process
	terms     []*leadership
}

// leadership is one call of a leading function.
type leadership struct {
	process *process
	term    *election.Term
	began   time.Time
	ended   time.Time // end of the term; zero if it has not ended
	cause   error     // cause with which the context ended
}

// process represents one worker's process.
type process struct {
	*cluster
	id       string
	events   chan machine.Event
	cancel   context.CancelFunc
	exited   chan struct{}
	stepDown chan string // makes the leading function return with this successor
	fail     chan error  // makes the leading function return this error

	// The fields below are guarded by the cluster's mutex.
	dead         bool
	suspended    chan struct{} // closed when the suspended process resumes; nil if the process is not suspended
	mute         bool          // the process does not answer pings
	hangs        bool          // the leading loop hangs, but the process answers pings
	disconnected bool
	calls        int
	fault        func(memlease.Call) memlease.Fault
	slowStart    time.Duration // time until the new leader answers pings and sends its first beacon
	unable       bool          // the leading function fails at once, and tells the other processes
	successor    string        // successor that the leading function names when it is told to stop
	leads        *leadership
}

func newCluster(t *testing.T) *cluster {
	return &cluster{t: t, storage: memlease.New(duration), adjust: func(*election.Config) {}}
}

// join starts a worker's process.
func (c *cluster) join(id string) *process {
	ctx, cancel := context.WithCancel(context.Background())
	m := &process{
		cluster: c, id: id, cancel: cancel,
		events:   make(chan machine.Event, 4096),
		exited:   make(chan struct{}),
		stepDown: make(chan string, 1),
		fail:     make(chan error, 1),
		fault:    func(memlease.Call) memlease.Fault { return memlease.Fault{Delay: latency} },
	}
	c.mu.Lock()
	c.processes = append(c.processes, m)
	seed := uint64(len(c.processes))
	c.mu.Unlock()
	cfg := election.Config{ID: id, Duration: duration, Rand: rand.New(rand.NewPCG(1, seed))}
	if testing.Verbose() {
		cfg.Logger = slog.New(slog.NewTextHandler(c.t.Output(), nil))
	}
	c.adjust(&cfg)
	lease := c.storage.Open(m.nextFault)
	go func() {
		defer close(m.exited)
		if err := election.Run(ctx, lease, m, cfg, m.lead); err != nil {
			c.t.Errorf("Run of %s: %v", id, err)
		}
	}()
	return m
}

// joinAll starts n workers at once.
func (c *cluster) joinAll(n int) []*process {
	processes := make([]*process, n)
	for i := range processes {
		processes[i] = c.join(fmt.Sprintf("worker-%d", i))
	}
	return processes
}

// killAll kills all processes, so that the bubble can end.
func (c *cluster) killAll() {
	c.mu.Lock()
	processes := slices.Clone(c.processes)
	c.mu.Unlock()
	for _, m := range processes {
		m.resume()
		m.kill()
	}
}

// kill ends the process like SIGKILL: its later actions have no effect.
func (m *process) kill() {
	m.mu.Lock()
	m.dead = true
	m.leads = nil
	m.mu.Unlock()
	m.cancel()
	<-m.exited
}

// stop tells the process to stop, like SIGTERM, and waits for its end.
func (m *process) stop() {
	m.cancel()
	<-m.exited
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
}

// suspend suspends the process, like SIGSTOP.
func (m *process) suspend() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.suspended = make(chan struct{})
}

// resume resumes the process, like SIGCONT.
func (m *process) resume() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.suspended != nil {
		close(m.suspended)
		m.suspended = nil
	}
}

// awaitResume returns when the process is not suspended.
func (m *process) awaitResume() {
	m.mu.Lock()
	suspended := m.suspended
	m.mu.Unlock()
	if suspended != nil {
		<-suspended
	}
}

// set calls the function change while it holds the mutex.
func (m *process) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

func (m *process) nextFault(call memlease.Call) memlease.Fault {
	m.awaitResume()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return memlease.Fault{Before: election.ErrUnavailable}
	}
	m.calls++
	return m.fault(call)
}

func (m *process) callCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}

// lead replaces the coordinator: it sends beacons, calls Beat, and answers pings.
func (m *process) lead(ctx context.Context, term *election.Term) (successor string, err error) {
	r := &leadership{process: m, term: term, began: time.Now()}
	m.mu.Lock()
	if m.dead { // the process was killed during its claim
		m.mu.Unlock()
		return "", nil
	}
	m.terms = append(m.terms, r)
	unable := m.unable
	m.mu.Unlock()
	if unable {
		m.broadcast(machine.BeaconHeard{Beacon: wire.Beacon{
			Epoch: term.Epoch, Worker: m.id, LeaseID: term.Record.LeaseID, Workers: m.size(), Leaving: true, Failed: true,
		}})
		m.set(func() { r.ended = time.Now() })
		return "", errors.New("storage is gone")
	}
	time.Sleep(m.slowStart)
	m.set(func() { m.leads = r })
	defer func() {
		m.set(func() {
			r.ended, r.cause = time.Now(), context.Cause(ctx)
			m.leads = nil
		})
	}()

	turn := time.NewTicker(50 * time.Millisecond)
	defer turn.Stop()
	for n := 0; ; n++ {
		m.mu.Lock()
		dead, hangs := m.dead, m.hangs
		m.mu.Unlock()
		if !dead && !hangs {
			term.Beat()
			if n%10 == 0 {
				m.broadcast(machine.BeaconHeard{Beacon: wire.Beacon{
					Epoch: term.Epoch, Worker: m.id, LeaseID: term.Record.LeaseID, Workers: m.size(), Next: 500 * time.Millisecond,
				}})
			}
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-term.Stopping():
			m.leave(term)
			m.set(func() { successor = m.successor })
			return successor, nil
		case name := <-m.stepDown:
			m.leave(term)
			return name, nil
		case err := <-m.fail:
			return "", err
		case <-turn.C:
			m.awaitResume()
		}
	}
}

// leave announces the end of a term before the leader stops to answer pings.
func (m *process) leave(term *election.Term) {
	m.broadcast(machine.BeaconHeard{Beacon: wire.Beacon{
		Epoch: term.Epoch, Worker: m.id, LeaseID: term.Record.LeaseID, Workers: m.size(), Leaving: true,
	}})
	time.Sleep(latency)
}

// size returns the number of living processes.
func (c *cluster) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, m := range c.processes {
		if !m.dead {
			n++
		}
	}
	return n
}

// broadcast delivers an event to all connected processes, including the sender.
func (m *process) broadcast(event machine.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead || m.disconnected {
		return
	}
	for _, to := range m.processes {
		m.deliver(to, event)
	}
}

// deliver sends an event to a process after the latency. The caller of deliver must hold the mutex.
func (m *process) deliver(to *process, event machine.Event) {
	if to.dead || to.disconnected {
		return
	}
	time.AfterFunc(latency, func() { to.events <- event })
}

// Events, SendSuspicion, Ping and Offer implement election.Peers.
func (m *process) Events() <-chan machine.Event {
	m.awaitResume()
	return m.events
}

func (m *process) SendSuspicion(epoch uint64) {
	m.broadcast(machine.SuspicionHeard{Suspicion: wire.Suspicion{Epoch: epoch, Worker: m.id}})
}

func (m *process) Ping(ctx context.Context, epoch uint64) error {
	m.awaitResume()
	time.Sleep(2 * latency)
	m.awaitResume()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m.mu.Lock()
	i := slices.IndexFunc(m.processes, func(o *process) bool {
		return o.leads != nil && o.leads.term.Epoch == epoch && !o.disconnected
	})
	silent := m.disconnected || i >= 0 && (m.processes[i].suspended != nil || m.processes[i].mute)
	m.mu.Unlock()
	switch {
	case silent:
		<-ctx.Done()
		return ctx.Err()
	case i < 0:
		return election.ErrNoResponders
	}
	return nil
}

func (m *process) Offer(ctx context.Context, worker string, offer wire.Offer) error {
	time.Sleep(2 * latency)
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.processes, func(o *process) bool { return o.id == worker && !o.dead })
	if i < 0 || m.dead {
		return election.ErrNoResponders
	}
	m.deliver(m.processes[i], machine.OfferReceived{Offer: offer})
	return ctx.Err()
}

// disconnect cuts the process off from its peers but not from storage.
func (m *process) disconnect() {
	m.set(func() { m.disconnected = true })
	m.events <- machine.Disconnected{}
}

// reconnect reverses disconnect.
func (m *process) reconnect() {
	m.set(func() { m.disconnected = false })
	m.events <- machine.Reconnected{}
}

// history returns all terms so far, in order.
func (c *cluster) history() []leadership {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]leadership, len(c.terms))
	for i, r := range c.terms {
		all[i] = *r
	}
	return all
}

// await waits until a process leads under epoch n and returns the term.
func (c *cluster) await(n uint64, within time.Duration) leadership {
	c.t.Helper()
	for begun := time.Now(); time.Since(begun) <= within; time.Sleep(latency) {
		for _, r := range c.history() {
			if r.term.Epoch == n {
				return r
			}
		}
	}
	c.t.Fatalf("epoch %d is not led within %v: %s", n, within, c)
	return leadership{}
}

// mustLeadFor checks that the latest term has the given epoch and lasts for some time.
func (c *cluster) mustLeadFor(epoch uint64, for_ time.Duration) {
	c.t.Helper()
	time.Sleep(for_)
	all := c.history()
	last := all[len(all)-1]
	if last.term.Epoch != epoch || !last.ended.IsZero() {
		c.t.Fatalf("epoch %d does not last: %s", epoch, c)
	}
	c.mustBeOrdered()
}

// mustBeOrdered checks that each epoch has one term and that epochs grow.
func (c *cluster) mustBeOrdered() {
	c.t.Helper()
	all := c.history()
	for i, r := range all {
		if i > 0 && r.term.Epoch <= all[i-1].term.Epoch {
			c.t.Fatalf("epoch %d comes after %d: %s", r.term.Epoch, all[i-1].term.Epoch, c)
		}
		if r.term.Record.Holder != r.process.id || r.term.Record.Epoch != r.term.Epoch {
			c.t.Fatalf("the record of epoch %d is %+v", r.term.Epoch, r.term.Record)
		}
	}
}

func (c *cluster) String() string {
	var text string
	for _, r := range c.history() {
		text += fmt.Sprintf("\n  epoch %d %s after %q (%s) from %s to %s: %v",
			r.term.Epoch, r.process.id, r.term.Predecessor, r.term.Cause, r.began.Format("05.000"), r.ended.Format("05.000"), r.cause)
	}
	return text
}

// bubble runs a test with a cluster in a synctest bubble.
func bubble(t *testing.T, test func(t *testing.T, c *cluster)) {
	// All timers of a bubble share one context of the race detector. Timers that fire on two
	// threads at the same time crash the race detector (Go 1.26.8).
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		defer c.killAll()
		test(t, c)
	})
}

func mustHaveCause(t *testing.T, r leadership, cause election.Cause, over string) {
	t.Helper()
	if r.term.Cause != cause || r.term.Predecessor != over {
		t.Fatalf("epoch %d: cause %s, predecessor %q; want %s and %q", r.term.Epoch, r.term.Cause, r.term.Predecessor, cause, over)
	}
}

func mustBeDeposed(t *testing.T, r leadership) {
	t.Helper()
	if !errors.Is(r.cause, election.ErrDeposed) {
		t.Fatalf("epoch %d ended with cause %v, want ErrDeposed", r.term.Epoch, r.cause)
	}
}

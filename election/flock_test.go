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
	"github.com/bellwether-compute/bellwether/election/memlease"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

const (
	duration = 15 * time.Second
	window   = duration - 2*time.Second
	latency  = time.Millisecond // of a message, one way, and of a call to storage
)

// flock is a cluster of workers in one bubble: the network between them, their
// storage, and a record of who led.
type flock struct {
	t       *testing.T
	storage *memlease.Storage
	adjust  func(*election.Config)

	mu      sync.Mutex
	members []*member
	reigns  []*reign
}

// reign is one call of a leading function.
type reign struct {
	member *member
	term   *election.Term
	began  time.Time
	ended  time.Time // zero: leads still
	cause  error     // why the context ended, if it did
}

// member is one worker's process.
type member struct {
	*flock
	id     string
	events chan election.Event
	cancel context.CancelFunc
	exited chan struct{}
	stepUp chan string // a successor; the leading function returns it
	fail   chan error  // the leading function returns it

	// Guarded by the flock's mutex.
	dead      bool
	frozen    chan struct{} // not nil: the process is stopped until it is closed
	mute      bool          // it answers no ping
	deaf      bool          // its loop does not turn, though its process answers pings
	unlinked  bool
	calls     int
	fault     func(memlease.Call) memlease.Fault
	slowStart time.Duration // until it answers and sends its first beacon
	successor string        // to name when told to stop
	leads     *reign
}

func newFlock(t *testing.T) *flock {
	return &flock{t: t, storage: memlease.New(duration), adjust: func(*election.Config) {}}
}

// join starts a worker's process.
func (f *flock) join(id string) *member {
	ctx, cancel := context.WithCancel(context.Background())
	m := &member{
		flock: f, id: id, cancel: cancel,
		events: make(chan election.Event, 4096),
		exited: make(chan struct{}),
		stepUp: make(chan string, 1),
		fail:   make(chan error, 1),
		fault:  func(memlease.Call) memlease.Fault { return memlease.Fault{Delay: latency} },
	}
	f.mu.Lock()
	f.members = append(f.members, m)
	seed := uint64(len(f.members))
	f.mu.Unlock()
	cfg := election.Config{ID: id, Duration: duration, Rand: rand.New(rand.NewPCG(1, seed))}
	if testing.Verbose() {
		cfg.Logger = slog.New(slog.NewTextHandler(f.t.Output(), nil))
	}
	f.adjust(&cfg)
	lease := f.storage.Open(m.faultOf)
	go func() {
		defer close(m.exited)
		if err := election.Run(ctx, lease, m, cfg, m.lead); err != nil {
			f.t.Errorf("Run of %s: %v", id, err)
		}
	}()
	return m
}

// joinAll starts n workers at once.
func (f *flock) joinAll(n int) []*member {
	members := make([]*member, n)
	for i := range members {
		members[i] = f.join(fmt.Sprintf("worker-%d", i))
	}
	return members
}

// disband ends all workers, so that the bubble can end.
func (f *flock) disband() {
	f.mu.Lock()
	members := slices.Clone(f.members)
	f.mu.Unlock()
	for _, m := range members {
		m.wake()
		m.kill()
	}
}

// kill ends the process as SIGKILL does: nothing it does from now on has an
// effect.
func (m *member) kill() {
	m.mu.Lock()
	m.dead = true
	m.leads = nil
	m.mu.Unlock()
	m.cancel()
	<-m.exited
}

// stop tells the process to stop, as SIGTERM does, and waits for it.
func (m *member) stop() {
	m.cancel()
	<-m.exited
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
}

// freeze stops the process as SIGSTOP does.
func (m *member) freeze() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.frozen = make(chan struct{})
}

// wake lets it go on as SIGCONT does.
func (m *member) wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.frozen != nil {
		close(m.frozen)
		m.frozen = nil
	}
}

// whileFrozen returns when the process may go on.
func (m *member) whileFrozen() {
	m.mu.Lock()
	frozen := m.frozen
	m.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
}

// set changes what the mutex guards.
func (m *member) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

func (m *member) faultOf(call memlease.Call) memlease.Fault {
	m.whileFrozen()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return memlease.Fault{Before: election.ErrUnavailable}
	}
	m.calls++
	return m.fault(call)
}

func (m *member) callsMade() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}

// lead stands for the coordinator: it sends beacons, beats, and answers pings as
// long as it runs.
func (m *member) lead(ctx context.Context, term *election.Term) (successor string, err error) {
	r := &reign{member: m, term: term, began: time.Now()}
	m.mu.Lock()
	if m.dead { // and killed while it claimed
		m.mu.Unlock()
		return "", nil
	}
	m.reigns = append(m.reigns, r)
	m.mu.Unlock()
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
		dead, deaf := m.dead, m.deaf
		m.mu.Unlock()
		if !dead && !deaf {
			term.Beat()
			if n%10 == 0 {
				m.broadcast(election.BeaconHeard{Beacon: wire.Beacon{
					Epoch: term.Epoch, Worker: m.id, LeaseID: term.Record.LeaseID, Workers: m.size(), Next: 500 * time.Millisecond,
				}})
			}
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-term.Stopping():
			m.set(func() { successor = m.successor })
			return successor, nil
		case name := <-m.stepUp:
			return name, nil
		case err := <-m.fail:
			return "", err
		case <-turn.C:
			m.whileFrozen()
		}
	}
}

// size is the number of living workers.
func (f *flock) size() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, m := range f.members {
		if !m.dead {
			n++
		}
	}
	return n
}

// broadcast delivers an event to all that can hear it, the sender included.
func (m *member) broadcast(event election.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead || m.unlinked {
		return
	}
	for _, to := range m.members {
		m.deliver(to, event)
	}
}

// deliver sends an event after the latency. The mutex is held.
func (m *member) deliver(to *member, event election.Event) {
	if to.dead || to.unlinked {
		return
	}
	time.AfterFunc(latency, func() { to.events <- event })
}

// Events is the member's side of election.Peers, and so are the next three.
func (m *member) Events() <-chan election.Event {
	m.whileFrozen()
	return m.events
}

func (m *member) SendSuspicion(epoch uint64) {
	m.broadcast(election.SuspicionHeard{Suspect: wire.Suspect{Epoch: epoch, Worker: m.id}})
}

func (m *member) Ping(ctx context.Context, epoch uint64) error {
	m.whileFrozen()
	time.Sleep(2 * latency)
	m.whileFrozen()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m.mu.Lock()
	i := slices.IndexFunc(m.members, func(o *member) bool {
		return o.leads != nil && o.leads.term.Epoch == epoch && !o.unlinked
	})
	silent := m.unlinked || i >= 0 && (m.members[i].frozen != nil || m.members[i].mute)
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

func (m *member) Offer(ctx context.Context, worker string, offer wire.Offer) error {
	time.Sleep(2 * latency)
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.members, func(o *member) bool { return o.id == worker && !o.dead })
	if i < 0 || m.dead {
		return election.ErrNoResponders
	}
	m.deliver(m.members[i], election.OfferReceived{Offer: offer})
	return ctx.Err()
}

// unlink cuts the process off from its peers, not from storage.
func (m *member) unlink() {
	m.set(func() { m.unlinked = true })
	m.events <- election.Disconnected{}
}

// relink undoes it.
func (m *member) relink() {
	m.set(func() { m.unlinked = false })
	m.events <- election.Reconnected{}
}

// history is who led so far, in order.
func (f *flock) history() []reign {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]reign, len(f.reigns))
	for i, r := range f.reigns {
		all[i] = *r
	}
	return all
}

// await waits until epoch n is led by a living member, and says which.
func (f *flock) await(n uint64, within time.Duration) reign {
	f.t.Helper()
	for begun := time.Now(); time.Since(begun) <= within; time.Sleep(latency) {
		for _, r := range f.history() {
			if r.term.Epoch == n {
				return r
			}
		}
	}
	f.t.Fatalf("epoch %d is not led within %v: %s", n, within, f)
	return reign{}
}

// mustKeep checks that the latest reign goes on for some time, and is that epoch.
func (f *flock) mustKeep(epoch uint64, for_ time.Duration) {
	f.t.Helper()
	time.Sleep(for_)
	all := f.history()
	last := all[len(all)-1]
	if last.term.Epoch != epoch || !last.ended.IsZero() {
		f.t.Fatalf("epoch %d does not last: %s", epoch, f)
	}
	f.mustBeOrdered()
}

// mustBeOrdered checks that no epoch was led twice and that epochs grow.
func (f *flock) mustBeOrdered() {
	f.t.Helper()
	all := f.history()
	for i, r := range all {
		if i > 0 && r.term.Epoch <= all[i-1].term.Epoch {
			f.t.Fatalf("epoch %d comes after %d: %s", r.term.Epoch, all[i-1].term.Epoch, f)
		}
		if r.term.Record.Holder != r.member.id || r.term.Record.Epoch != r.term.Epoch {
			f.t.Fatalf("the record of epoch %d is %+v", r.term.Epoch, r.term.Record)
		}
	}
}

func (f *flock) String() string {
	var text string
	for _, r := range f.history() {
		text += fmt.Sprintf("\n  epoch %d %s over %q (%s) from %s to %s: %v",
			r.term.Epoch, r.member.id, r.term.Predecessor, r.term.Cause, r.began.Format("05.000"), r.ended.Format("05.000"), r.cause)
	}
	return text
}

// bubble runs a test with a flock on a clock of its own.
func bubble(t *testing.T, test func(t *testing.T, f *flock)) {
	// The timers of a bubble share one context of the race detector, whichever
	// threads they fire on. On two threads at once they crashed it (Go 1.26.8).
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		f := newFlock(t)
		defer f.disband()
		test(t, f)
	})
}

func mustCause(t *testing.T, r reign, cause election.Cause, over string) {
	t.Helper()
	if r.term.Cause != cause || r.term.Predecessor != over {
		t.Fatalf("epoch %d: cause %s over %q, want %s over %q", r.term.Epoch, r.term.Cause, r.term.Predecessor, cause, over)
	}
}

func mustDeposed(t *testing.T, r reign) {
	t.Helper()
	if !errors.Is(r.cause, election.ErrDeposed) {
		t.Fatalf("epoch %d ended with cause %v, want ErrDeposed", r.term.Epoch, r.cause)
	}
}

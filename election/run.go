package election

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellwether-compute/bellwether/election/machine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Config contains an election's settings. ID is required; every other field has a default. All
// workers of a cluster should use the same settings. See [machine.Config] for the fields.
type Config = machine.Config

// Run makes this process take part in elections until ctx is done: the process follows the leader,
// takes over if there is no leader, and leads, any number of times. If ctx is done while this
// process leads, Run asks the leading function to stop (see [Term.Stopping]). The process leads
// until the leading function returns; then Run hands over or releases the lease. Run returns an
// error only if cfg is invalid.
//
// If peers is nil, the processes use only the lease: followers poll the lease's record and take
// over when the lease is released or has expired (see Config.Exclusive).
//
// Run never stops reading the peers' events. When Run returns, every goroutine that it started has
// ended.
func Run(ctx context.Context, lease Lease, peers Peers, cfg Config, lead LeadFunc) error {
	s := shell{lease: lease, peers: peers, leadFunc: lead}
	return s.elect(ctx, cfg)
}

func (s *shell) elect(ctx context.Context, cfg Config) (err error) {
	if cfg.Rand == nil {
		cfg.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	newMachine := machine.New
	if s.peers == nil {
		s.peers, newMachine = noPeers{}, machine.NewWithoutPeers
	}
	if s.machine, err = newMachine(cfg); err != nil {
		return err
	}
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.started, s.calls = time.Now(), calls
	s.answers, s.returned = make(chan machine.Answer), make(chan machine.Returned, 1)
	s.run(ctx.Done())
	cancel()
	s.running.Wait()
	return nil
}

// shell turns events into inputs of a machine and performs the machine's actions. Only one
// goroutine uses the shell's fields, except highest. Calls to Lease and Peers, and the leading function, run in
// other goroutines.
type shell struct {
	machine  *machine.Machine
	started  time.Time
	lease    Lease
	peers    Peers
	leadFunc LeadFunc
	beatless bool // the leading function reports no beats, and counts as running until it returns
	done     bool
	highest  atomic.Uint64 // highest epoch for which a term was deposed

	calls   context.Context // context of calls to Lease and Peers; ends when Run ends
	running sync.WaitGroup
	answers chan machine.Answer

	// The fields below belong to the current or the last term.
	leaseCtx *leaseContext
	ended    <-chan struct{} // closed when leaseCtx ends; nil when the machine knows that leaseCtx has ended
	beats    <-chan struct{} // beats of the leading loop
	awaited  <-chan struct{} // the channel beats while the machine waits for a beat, otherwise nil
	stopping chan<- struct{} // closed to ask the leading function to stop
	returned chan machine.Returned
}

func (s *shell) run(stop <-chan struct{}) {
	due := time.NewTimer(0)
	defer due.Stop()
	for !s.done {
		due.Reset(s.machine.Due() - time.Since(s.started))
		select {
		case <-stop:
			stop = nil
			s.step(machine.Stop{})
		case event := <-s.peers.Events():
			s.step(event)
		case answer := <-s.answers:
			s.catchUp()
			s.step(answer)
		case <-s.awaited:
			s.awaited = nil
			s.step(machine.Beat{})
		case <-s.ended:
			s.deposed()
		case returned := <-s.returned:
			if s.leaseCtx.Err() != nil {
				s.deposed()
			}
			s.leaseCtx.end(context.Canceled) // goroutines that the leading function has left running end too
			s.ended, s.awaited = nil, nil
			s.step(returned)
		case <-due.C:
			s.catchUp()
			s.step(machine.Tick{})
		}
	}
}

func (s *shell) step(in machine.Input) {
	for _, action := range s.machine.Step(time.Since(s.started), in) {
		s.perform(action)
	}
}

// catchUp feeds the machine the events that have arrived. Without catchUp, a process that was suspended would
// conclude that the other processes had been silent during the suspension.
func (s *shell) catchUp() {
	events := s.peers.Events()
	for range len(events) {
		s.step(<-events)
	}
}

// deposed tells the machine that leaseCtx has ended. It is also called if the machine itself has
// ended leaseCtx.
func (s *shell) deposed() {
	s.ended = nil
	s.step(machine.Deposed{Cause: context.Cause(s.leaseCtx)})
}

// noPeers replaces the peers if Run is called without peers.
type noPeers struct{}

func (noPeers) Ping(context.Context, uint64) error              { return ErrNoResponders }
func (noPeers) SendSuspicion(uint64)                            {}
func (noPeers) Offer(context.Context, string, wire.Offer) error { return ErrNoResponders }
func (noPeers) Events() <-chan machine.Event                    { return nil }

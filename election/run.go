package election

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Run takes part in elections until ctx is done: it follows whoever leads, takes
// over when nobody does, and leads, again and again. When ctx is done while this
// process leads, the leading function is asked to stop (see [Term.Stopping]) and
// leads until it returns; the lease is then handed over or released. Run returns
// an error only for a cfg that does not hold together.
//
// It reads the peers' events at all times. Nothing that it started runs on when
// it returns.
func Run(ctx context.Context, lease Lease, peers Peers, cfg Config, lead LeadFunc) error {
	if cfg.Rand == nil {
		cfg.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	machine, err := NewMachine(cfg)
	if err != nil {
		return err
	}
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &shell{
		machine: machine, started: time.Now(),
		lease: lease, peers: peers, leadFunc: lead,
		calls: calls, answers: make(chan Answer), returned: make(chan Returned, 1),
	}
	s.run(ctx.Done())
	cancel()
	s.running.Wait()
	return nil
}

// shell turns what happens into a machine's inputs and performs its actions. One
// goroutine owns it; calls and the leading function run in others.
type shell struct {
	machine  *Machine
	started  time.Time
	lease    Lease
	peers    Peers
	leadFunc LeadFunc
	done     bool

	calls   context.Context // what is under way ends with it
	running sync.WaitGroup
	answers chan Answer

	// Of the current or the last term.
	trust    *trust
	ended    <-chan struct{} // closed when trust ends; nil once the machine knows
	beats    <-chan struct{} // beats of the leading loop
	awaited  <-chan struct{} // beats while the machine waits for one, otherwise nil
	stopping chan<- struct{} // close it to ask the leading function to stop
	returned chan Returned
}

func (s *shell) run(stop <-chan struct{}) {
	due := time.NewTimer(0)
	defer due.Stop()
	for !s.done {
		due.Reset(s.machine.Due() - time.Since(s.started))
		select {
		case <-stop:
			stop = nil
			s.step(Stop{})
		case event := <-s.peers.Events():
			s.step(event)
		case answer := <-s.answers:
			s.catchUp()
			s.step(answer)
		case <-s.awaited:
			s.awaited = nil
			s.step(Beat{})
		case <-s.ended:
			s.deposed()
		case returned := <-s.returned:
			if s.trust.Err() != nil {
				s.deposed()
			}
			s.trust.end(context.Canceled) // ends what the leading function left behind
			s.ended, s.awaited = nil, nil
			s.step(returned)
		case <-due.C:
			s.catchUp()
			s.step(Tick{})
		}
	}
}

// step has the machine take an input and performs what comes of it.
func (s *shell) step(in Input) {
	for _, action := range s.machine.Step(time.Since(s.started), in) {
		s.perform(action)
	}
}

// catchUp takes in what was heard by now. To a process that slept, its own silence
// would seem that of others.
func (s *shell) catchUp() {
	events := s.peers.Events()
	for range len(events) {
		s.step(<-events)
	}
}

// deposed says that leadership has ended by itself, which the machine may know.
func (s *shell) deposed() {
	s.ended = nil
	s.step(Deposed{context.Cause(s.trust)})
}

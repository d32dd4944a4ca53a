package election

import "github.com/bellwether-compute/bellwether/jobs/wire"

// Event is something heard from Peers: BeaconHeard, SuspicionHeard,
// OfferReceived, Disconnected or Reconnected.
type Event interface {
	Input
	event()
}

// BeaconHeard: a leader says that it leads.
type BeaconHeard struct{ wire.Beacon }

// SuspicionHeard: a follower says that a leader seems dead, or the leader itself
// that it has stopped.
type SuspicionHeard struct{ wire.Suspect }

// OfferReceived: a leader that stops hands this worker the lease.
type OfferReceived struct{ wire.Offer }

// Disconnected: this process has lost its connection. What it fails to hear from now
// on says nothing about others.
type Disconnected struct{}

// Reconnected: this process is connected again.
type Reconnected struct{}

func (BeaconHeard) event()    {}
func (SuspicionHeard) event() {}
func (OfferReceived) event()  {}
func (Disconnected) event()   {}
func (Reconnected) event()    {}

func (BeaconHeard) input()    {}
func (SuspicionHeard) input() {}
func (OfferReceived) input()  {}
func (Disconnected) input()   {}
func (Reconnected) input()    {}

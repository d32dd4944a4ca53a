package machine

import "github.com/bellwether-compute/bellwether/jobs/wire"

// Event is an input that comes from Peers: BeaconHeard, SuspicionHeard, OfferReceived, Disconnected
// or Reconnected.
type Event interface {
	Input
	event()
}

// BeaconHeard means that a leader has announced its leadership.
type BeaconHeard struct{ wire.Beacon }

// SuspicionHeard means that a leader seems dead (according to a follower) or has stopped (according
// to the leader itself).
type SuspicionHeard struct{ wire.Suspicion }

// OfferReceived means that a stopping leader offers the lease to this worker.
type OfferReceived struct{ wire.Offer }

// Disconnected means that this process has lost its connection to its peers. Between Disconnected
// and Reconnected, a missing message is no evidence that its sender is dead.
type Disconnected struct{}

// Reconnected means that this process is connected to its peers again.
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

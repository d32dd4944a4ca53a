package election

import "github.com/bellwether-compute/bellwether/jobs/wire"

// Event is an input that comes from Peers: BeaconHeard, SuspicionHeard, OfferReceived, Disconnected
// or Reconnected.
type Event interface {
	Input
	event()
}

// BeaconHeard means that a leader has announced its leadership.
type BeaconHeard struct{ wire.Beacon }

// SuspicionHeard means that a leader seems dead (if a follower sent the message) or has stopped (if
// the leader itself sent the message).
type SuspicionHeard struct{ wire.Suspicion }

// OfferReceived means that a stopping leader offers the lease to this worker.
type OfferReceived struct{ wire.Offer }

// Disconnected means that this process has lost its connection to its peers. Until the event Reconnected, a
// missing message is no evidence that its sender is dead.
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

package election

import "github.com/bellwether-compute/bellwether/jobs/wire"

// Event is something heard from Peers: BeaconHeard, SuspicionHeard,
// OfferReceived, LinkLost or LinkRestored.
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

// LinkLost: this process has lost its connection. What it fails to hear from now
// on says nothing about others.
type LinkLost struct{}

// LinkRestored: this process is connected again.
type LinkRestored struct{}

func (BeaconHeard) event()    {}
func (SuspicionHeard) event() {}
func (OfferReceived) event()  {}
func (LinkLost) event()       {}
func (LinkRestored) event()   {}

func (BeaconHeard) input()    {}
func (SuspicionHeard) input() {}
func (OfferReceived) input()  {}
func (LinkLost) input()       {}
func (LinkRestored) input()   {}

package sim

import (
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// checks observes the whole cluster and compares it with Bellwether's promises. Each
// method is called when the event in its name happens; a broken promise ends the
// simulation.
type checks struct {
	sim *Sim

	manifests map[string]store.Manifest // by job ID, the last stored manifest
	first     map[string]uint64         // by job ID, the lowest epoch that may still write the job's manifest
	terms     map[uint64]*observedTerm
	epochs    map[*process]followedEpoch
	invented  map[uint64]bool // epochs of beacons that no leader sent
	kept      map[*process]map[string]*keptItems
	assigned  map[*process][]assigned
	deaths    map[partitionOf]int // number of processes that died while the partition was assigned to them
	callsDied map[callOf]int      // number of processes that died while the call was assigned to them

	conversations map[*process]*observedConversation
}

// assigned is a span that a leader assigned to a worker.
type assigned struct {
	job      string
	span     jobs.Span
	function wire.Function // of a call
}

type callOf struct {
	job      string
	function wire.Function
}

type partitionOf struct {
	job       string
	partition uint64
}

// observedTerm is the history of an epoch.
type observedTerm struct {
	holder  string
	leads   *process
	since   time.Duration
	expires time.Duration // when the lease expires, unless it is renewed
	changed bool          // another process took the lease over before it expired
}

// keptItems are the items of a job that a worker has delivered. The first item has
// number 1.
type keptItems struct {
	items   []keptItem
	durable uint64
	ended   bool
}

type keptItem struct {
	span jobs.Span
	at   time.Duration
}

func newChecks(s *Sim) *checks {
	return &checks{
		sim: s, manifests: map[string]store.Manifest{}, first: map[string]uint64{}, terms: map[uint64]*observedTerm{},
		epochs: map[*process]followedEpoch{}, invented: map[uint64]bool{}, kept: map[*process]map[string]*keptItems{},
		assigned: map[*process][]assigned{}, deaths: map[partitionOf]int{}, callsDied: map[callOf]int{},
		conversations: map[*process]*observedConversation{},
	}
}

// fail ends the simulation because a promise is broken.
func (s *Sim) fail(format string, args ...any) {
	if s.failure == nil {
		s.failure = fmt.Errorf(format, args...)
		s.trace.printf(nil, "FAILED: %v", s.failure)
	}
}

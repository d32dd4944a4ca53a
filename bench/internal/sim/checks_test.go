package sim

import (
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// checks observes the simulated cluster and checks the promises that the package documentation
// lists. The methods of checks are named after events, and the simulation calls a method when its
// event happens. A broken promise ends the simulation.
type checks struct {
	sim *Sim

	manifests map[string]store.Manifest // last stored manifest of each job, by job ID
	first     map[string]uint64         // lowest epoch whose leader may still write the job's manifest, by job ID
	measured  map[string]bool           // jobs of calm scenarios whose first leader has measured the time that a partition takes, by job ID
	terms     map[uint64]*observedTerm
	epochs    map[*process]followedEpoch
	invented  map[uint64]bool // epochs that occur only in beacons that a fault made up
	kept      map[*process]map[string]*keptItems
	assigned  map[*process][]assigned
	copies    map[string][]copied // nodes whose partials workers have had in memory, by job ID
	deaths    map[partitionOf]int // number of processes that died while the partition was assigned to them
	callsDied map[callOf]int      // number of processes that died while the call was assigned to them
	alone     aloneChecks
	benched   benchChecks
	holders   map[conversationOf]*observedHolder
	fetches   map[fetchOf]*observedFetch
	readBlobs map[string]bool // the blobs whose content was compared, with their node and the job's skipped partitions

	conversations map[*process]*observedConversation
}

type assigned struct {
	job      string
	span     engine.Span
	function wire.Function // function of the call; Map if a span was assigned
}

type callOf struct {
	job      string
	function wire.Function
}

type partitionOf struct {
	job       string
	partition uint64
}

type observedTerm struct {
	holder  string
	leads   *process
	since   time.Duration
	expires time.Duration // time at which the lease expires unless its holder renews it
	changed bool          // true if another process took the lease before it had expired
	unaware bool          // true if a worker reported to the previous leader that the last beacon did not count
	assigns bool          // true if the leader has assigned work, so that its recovery is over
}

// keptItems contains the items of a job that a worker has delivered to its session. The first has number 1.
type keptItems struct {
	items   []keptItem
	durable uint64
	ended   bool
}

type keptItem struct {
	span engine.Span
	at   time.Duration
}

func newChecks(s *Sim) *checks {
	return &checks{
		sim: s, manifests: map[string]store.Manifest{}, first: map[string]uint64{}, measured: map[string]bool{}, terms: map[uint64]*observedTerm{},
		epochs: map[*process]followedEpoch{}, invented: map[uint64]bool{}, kept: map[*process]map[string]*keptItems{},
		benched:  benchChecks{failed: map[partitionOf]bool{}},
		alone:    aloneChecks{running: map[*process]aloneRun{}, died: map[partitionOf]aloneDeaths{}},
		assigned: map[*process][]assigned{}, copies: map[string][]copied{}, deaths: map[partitionOf]int{}, callsDied: map[callOf]int{}, readBlobs: map[string]bool{},
		holders: map[conversationOf]*observedHolder{}, fetches: map[fetchOf]*observedFetch{},
		conversations: map[*process]*observedConversation{},
	}
}

func (s *Sim) fail(format string, args ...any) {
	if s.failure == nil {
		s.failure = fmt.Errorf(format, args...)
		s.trace.printf(nil, "FAILED: %v", s.failure)
	}
}

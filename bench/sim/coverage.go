package sim

import (
	"maps"
	"slices"
	"strings"
)

// Coverage counts how often things happened: faults, takeovers, rare decisions.
type Coverage map[string]int

// hit counts one thing.
func (s *Sim) hit(what string) { s.coverage[what]++ }

// Add adds what another simulation covered.
func (c Coverage) Add(other Coverage) {
	for what, n := range other {
		c[what] += n
	}
}

// Names are what was covered, sorted.
func (c Coverage) Names() []string { return slices.Sorted(maps.Keys(c)) }

// enoughSeeds is under how many seeds everything should have happened.
const enoughSeeds = 5000

// OK reports whether no promise was broken and everything happened that should.
func (r Report) OK() bool { return len(r.Failures) == 0 && len(r.Missing()) == 0 }

// Missing names what should have happened under so many seeds and never did.
func (r Report) Missing() []string {
	if r.Seeds < enoughSeeds {
		return nil
	}
	var list []string
	for _, what := range expected {
		if r.Coverage[what] == 0 {
			list = append(list, what)
		}
	}
	return list
}

// expected is what happens within that many seeds, or else the simulation
// does not try what it should: every fault, every cause of a term, and the rare
// decisions of ledger, election and reign, as far as they log them or show.
var expected = func() []string {
	list := strings.Split(strings.TrimSpace(`
fault: clock runs at another rate
fault: job not opened
fault: message delayed
fault: message duplicated
fault: message lost
fault: message overtook another
fault: partition failed
fault: partition hung
fault: partition killed its process
fault: plan failed
fault: storage answer lost
fault: storage call lost
fault: storage call refused
fault: storage call slow
fault: storage effect after its caller gave up
log: Reconnected to peers
log: Could not release the lease
log: Could not hand over
log: Deposed
log: Extend submission
log: Handed over
log: Job ended
log: Job resumed
log: Leader stops
log: Disconnected from peers
log: Partition # failed, attempt # of #
log: Partition # is late on worker w# and runs here too
log: Partition # runs alone
log: Partition skipped
log: Plan failed, trying again
log: Another process holds the lease
log: Stepped down
log: Storage is back
log: Storage is out of reach, trying until it is back
log: Leader seems dead
log: Lease storage available again
log: Lease storage unavailable
log: Worker could not open the job
log: Worker died
log: Worker is silent for #.#s, its work goes to others
log: Worker left
log: Workers did not answer the new leader in #.#s
seen: cancel confirmed
seen: cancel refused
seen: job of an orderly cluster
seen: job removed
seen: removed again
log: Job waits
log: Making way for a worker that knows jobs which this leader does not
seen: new leader told of partials
seen: new leader told of spans
seen: partial too large for a report
seen: slot kept some of what it had done
seen: plan read from storage
seen: report refused
seen: report resent
seen: draining took too long
leave: drained
leave: nothing held
leave: drain timed out
seen: report split
seen: span cut short
seen: storage precondition failed
seen: submission delivered again
seen: submitted again
takeover: died
takeover: expired
takeover: first
takeover: free
takeover: handover
takeover: silent
`), "\n")
	for _, f := range every {
		list = append(list, "fault: "+f.name)
	}
	return list
}()

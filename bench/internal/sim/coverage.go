package sim

import (
	"maps"
	"slices"
	"strings"
)

// Coverage counts how often each fault, each reason for a new leader and each rare decision of the
// real code happened.
type Coverage map[string]int

func (s *Sim) cover(what string) { s.coverage[what]++ }

// Add adds the counts of another simulation.
func (c Coverage) Add(other Coverage) {
	for what, n := range other {
		c[what] += n
	}
}

// Names returns the names of all counted events, sorted.
func (c Coverage) Names() []string { return slices.Sorted(maps.Keys(c)) }

// enoughSeeds is the number of seeds within which every expected event must happen.
const enoughSeeds = 5000

// OK reports whether every promise was kept and every expected event happened.
func (r Report) OK() bool { return len(r.Failures) == 0 && len(r.Missing()) == 0 }

// Missing returns the expected events that never happened. If fewer than enoughSeeds seeds were
// run, Missing returns no events.
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

// expected lists the events that must happen within enoughSeeds seeds: every fault, every reason
// for which a term begins, and the rare decisions of the ledger, the election, the term and the
// session that the simulation can see. A simulation tests nothing about events that never happen,
// so the list is checked.
var expected = func() []string {
	list := strings.Split(strings.TrimSpace(`
fault: clock runs at another rate
fault: fetch stopped half-way
fault: fetched bytes damaged
fault: held partial lost
fault: holder of a partition that is skipped isolated
fault: job not opened
fault: message delayed
fault: message duplicated
fault: message lost
fault: message overtook another
fault: partition failed
fault: repeated attempt failed
fault: partition hung
fault: partition killed its process
fault: Finish hung
fault: Finish killed its process
fault: Finish returned damaged data
fault: Merge hung
fault: Merge killed its process
fault: Plan hung
fault: Plan killed its process
fault: Plan returned damaged data
fault: plan failed
fault: spec stored again after the job was removed
fault: storage answer lost
fault: storage call lost
fault: storage call refused
fault: storage call slow
fault: storage effect after its caller gave up
log: Reconnected to peers
log: Could not release the lease
log: Could not hand over
log: Deposed
log: Could not extend a submission
log: Handed over
log: Job ended
log: Job resumed
log: Leader is stopping
log: Disconnected from peers
log: Partition # failed, attempt # of #
log: Partition # is late on worker w# and runs here too
log: Partition # runs alone, workers that died while it ran alone
log: Partition skipped
log: Plan failed, attempt # of #
log: Another process holds the lease
log: Stepped down
log: Storage is available again
log: Storage is unavailable, retrying
log: Leader seems dead
log: Lease storage available again
log: Lease storage unavailable
log: Worker could not open the job
log: Worker died
log: Worker is silent for #.#s, its work goes to others
log: Worker left
log: Workers did not answer the new leader in #.#s
seen: auditor named
seen: cancel confirmed
seen: cancel refused
seen: job of an orderly cluster
seen: job removed
seen: removal retried
log: Job is parked
seen: call of Finish
seen: call of Merge
seen: call of Plan
seen: held partial stored
seen: held partial stored for want of memory
seen: durable partial dropped
seen: merge without skipped partitions
seen: operand fetched
seen: leader merges large partials
seen: operand read from storage
seen: worker without usable slots
seen: new leader told of held nodes
seen: new leader told of partials
seen: new leader told of spans
seen: partial too large for a report
seen: slot kept some of what it had done
seen: plan read from storage
seen: report refused
seen: receipt dropped
seen: worker on another storage refused
seen: worker reads the lease's record
seen: worker returns to the epoch in storage
log: Leader ignored
seen: report resent
seen: draining took too long
leave: drained
leave: nothing held
leave: drain timed out
seen: report split
seen: span cut short
seen: storage precondition failed
seen: submission delivered again
seen: submission retried
takeover: died
takeover: expired
takeover: first
takeover: free
takeover: handover
takeover: silent
`), "\n")
	for _, f := range faultKinds {
		list = append(list, "fault: "+f.name)
	}
	return list
}()

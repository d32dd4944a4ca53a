package sim

import (
	_ "embed"
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

//go:embed expected.txt
var expectedEvents string

// expected lists the events that must happen within enoughSeeds seeds: every fault, every reason
// for which a term begins, and the rare decisions of the ledger, the election, the term and the
// session that the simulation can see. A simulation tests nothing about events that never happen,
// so the list is checked.
var expected = func() []string {
	list := strings.Split(strings.TrimSpace(expectedEvents), "\n")
	for _, f := range faultKinds {
		list = append(list, "fault: "+f.name)
	}
	return list
}()

//go:build unix

package chaos

import (
	"math/rand/v2"
	"slices"
	"time"
)

const (
	fewest, most = 3, 6 // minimum and maximum number of nodes, with or without a running process
	initially    = 4

	// gap is the mean time between the starts of two successive faults. Most faults last longer
	// than gap, so faults overlap.
	gap = 1200 * time.Millisecond
)

type event struct {
	at     time.Duration // time from the start of the run to the start of the fault
	fault  string        // name of the fault
	lasts  time.Duration
	node   int  // number of the node, from 1; 0 if the fault does not affect a node
	leader bool // true if the fault affects the leader's node instead, provided that the cluster has a leader
}

// schedule returns the random faults of a run of the given duration. Each fault is used once, in
// random order, before any fault is used again. All faults end within the duration.
func schedule(seed uint64, faults []fault, duration time.Duration) []event {
	var (
		rng     = rand.New(rand.NewPCG(seed, 0))
		members = nodeNumbers(initially)
		joined  = initially
		events  []event
		at      = drawn(rng, 0, gap)
	)
	for {
		for _, i := range rng.Perm(len(faults)) {
			f := faults[i]
			e := event{at: at, fault: f.name, lasts: drawn(rng, f.least, f.most)}
			if at >= duration {
				return events
			}
			at += drawn(rng, gap/4, 2*gap-gap/4)
			if e.at+e.lasts > duration {
				continue
			}
			switch f.on {
			case process, links, packets:
				e.node = members[rng.IntN(len(members))]
				e.leader = rng.IntN(2) == 0
			case joining:
				if len(members) == most {
					continue
				}
				joined++
				members = append(members, joined)
				e.node = joined
			case leaving:
				if len(members) == fewest {
					continue
				}
				k := rng.IntN(len(members))
				e.node = members[k]
				members = slices.Delete(members, k, k+1)
			}
			events = append(events, e)
		}
	}
}

func nodeNumbers(n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i + 1
	}
	return numbers
}

func drawn(rng *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(rng.Int64N(int64(most-least)+1)).Truncate(time.Millisecond)
}

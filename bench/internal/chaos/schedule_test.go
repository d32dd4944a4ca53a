//go:build unix

package chaos

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
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

func onEachStorage(t *testing.T, test func(t *testing.T, on Storage)) {
	for _, on := range []Storage{JetStream, Azure, Damaged} {
		t.Run(string(on), func(t *testing.T) { test(t, on) })
	}
}

func TestSeedDeterminesSchedule(t *testing.T) {
	onEachStorage(t, func(t *testing.T, on Storage) {
		const duration = 2 * time.Minute
		one, again, other := schedule(1, catalog(on), duration), schedule(1, catalog(on), duration), schedule(2, catalog(on), duration)
		if !reflect.DeepEqual(one, again) {
			t.Error("the same seed gives another schedule")
		}
		if reflect.DeepEqual(one, other) {
			t.Error("another seed gives the same schedule")
		}
	})
}

func TestScheduleKeepsItsBounds(t *testing.T) {
	onEachStorage(t, func(t *testing.T, on Storage) {
		kinds := make(map[string]fault)
		for _, f := range catalog(on) {
			kinds[f.name] = f
		}
		for seed := range uint64(100) {
			const duration = 3 * time.Minute
			members := nodeNumbers(initially)
			last := time.Duration(0)
			for _, e := range schedule(seed, catalog(on), duration) {
				f := kinds[e.fault]
				if e.at < last || e.at+e.lasts > duration || e.lasts < f.least || e.lasts > f.most {
					t.Fatalf("seed %d: %+v", seed, e)
				}
				last = e.at
				switch f.on {
				case joining:
					if slices.Contains(members, e.node) {
						t.Fatalf("seed %d: a node joins that is in the cluster: %+v", seed, e)
					}
					members = append(members, e.node)
				case leaving, process, links, packets:
					if !slices.Contains(members, e.node) {
						t.Fatalf("seed %d: the node is not one of %v: %+v", seed, members, e)
					}
				default:
					if e.node != 0 {
						t.Fatalf("seed %d: the fault is not on a node, but names one: %+v", seed, e)
					}
				}
				if f.on == leaving {
					members = slices.DeleteFunc(members, func(m int) bool { return m == e.node })
				}
				if len(members) < fewest || len(members) > most {
					t.Fatalf("seed %d: %d nodes after %+v", seed, len(members), e)
				}
			}
		}
	})
}

// TestLongScheduleHasEveryFault checks that a long schedule contains each fault at least minPlanned
// times, because a long run fails if a fault was never injected.
func TestLongScheduleHasEveryFault(t *testing.T) {
	onEachStorage(t, func(t *testing.T, on Storage) {
		for seed := range uint64(100) {
			planned := make(map[string]int)
			for _, e := range schedule(seed, catalog(on), 10*time.Minute) {
				planned[e.fault]++
			}
			for _, f := range catalog(on) {
				if planned[f.name] < minPlanned {
					t.Errorf("seed %d: %s is planned only %d times in 10 minutes", seed, f.name, planned[f.name])
				}
			}
		}
	})
}

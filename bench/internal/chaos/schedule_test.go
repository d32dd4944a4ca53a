//go:build unix

package chaos

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

func onEachStorage(t *testing.T, test func(t *testing.T, on Storage)) {
	for _, on := range []Storage{JetStream, Azure} {
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

func TestOperations(t *testing.T) {
	generate := func(seed uint64, client int) (list []op) {
		for o := newGenerator(seed, client, Azure); len(list) < 2*len(workloadOn(Azure)); {
			list = append(list, o.next())
		}
		return list
	}
	if !reflect.DeepEqual(generate(1, 1), generate(1, 1)) {
		t.Error("the same seed gives other operations")
	}
	if reflect.DeepEqual(generate(1, 1), generate(1, 2)) {
		t.Error("two clients have the same operations")
	}
	kinds := make(map[string]int)
	for _, o := range generate(1, 1) {
		kinds[o.name]++
	}
	for name, n := range kinds {
		if n != 2 || len(kinds) != len(workloadOn(Azure)) {
			t.Errorf("%s is generated %d times, want each of %d kinds twice", name, n, len(kinds))
		}
	}
}

//go:build unix

package chaos

import (
	"math/rand/v2"
	"slices"
	"time"
)

const (
	fewest, most = 3, 6 // machines, those included whose process is down
	initially    = 4

	// gap is the mean time from one fault to the next. Most last longer than that.
	gap = 1200 * time.Millisecond
)

// event is one fault of a schedule.
type event struct {
	at      time.Duration // since the beginning
	fault   string        // its name
	lasts   time.Duration
	machine int  // 1, 2, …: whose it is, where it is a machine's; 0: no machine's
	leader  bool // the leader's instead, if somebody leads
}

// schedule draws faults for a time. Each comes once before any comes again, in an
// order by chance, and none lasts beyond the end.
func schedule(seed uint64, faults []fault, duration time.Duration) []event {
	var (
		chance  = rand.New(rand.NewPCG(seed, 0))
		members = machines(initially)
		joined  = initially
		events  []event
		at      = drawn(chance, 0, gap)
	)
	for {
		for _, i := range chance.Perm(len(faults)) {
			f := faults[i]
			e := event{at: at, fault: f.name, lasts: drawn(chance, f.least, f.most)}
			if at >= duration {
				return events
			}
			at += drawn(chance, gap/4, 2*gap-gap/4)
			if e.at+e.lasts > duration {
				continue
			}
			switch f.on {
			case process, links, packets:
				e.machine = members[chance.IntN(len(members))]
				e.leader = chance.IntN(2) == 0
			case joining:
				if len(members) == most {
					continue
				}
				joined++
				members = append(members, joined)
				e.machine = joined
			case leaving:
				if len(members) == fewest {
					continue
				}
				k := chance.IntN(len(members))
				e.machine = members[k]
				members = slices.Delete(members, k, k+1)
			}
			events = append(events, e)
		}
	}
}

// machines are the numbers of the first n.
func machines(n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i + 1
	}
	return numbers
}

// drawn is a time from least up to most.
func drawn(chance *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(chance.Int64N(int64(most-least)+1)).Truncate(time.Millisecond)
}

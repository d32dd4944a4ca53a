package election_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/memlease"
)

var chaosSeed = flag.Uint64("chaos.seed", 0, "run TestChaos with this seed alone")

// TestChaos does to a flock whatever can happen, in random order, and checks that
// epochs are led once each and in order, and that a leader stays once all is
// quiet.
func TestChaos(t *testing.T) {
	if *chaosSeed != 0 {
		chaos(t, *chaosSeed)
		return
	}
	for range 20 {
		chaos(t, rand.Uint64()|1)
	}
}

func chaos(t *testing.T, seed uint64) {
	bubble(t, func(t *testing.T, f *flock) {
		defer func() {
			if t.Failed() {
				t.Logf("replay: go test ./election -run TestChaos -chaos.seed=%d", seed)
			}
		}()
		random := rand.New(rand.NewPCG(seed, seed))
		members := f.joinAll(5)
		for i := range 60 {
			m := members[random.IntN(len(members))]
			if all := f.history(); len(all) > 0 && random.IntN(2) == 0 {
				m = all[len(all)-1].member
			}
			if !m.dead {
				disturb(m, random)
			}
			if f.size() < 4 {
				members = append(members, f.join(fmt.Sprintf("worker-new-%d", i)))
			}
			time.Sleep(time.Duration(random.Int64N(int64(8 * time.Second))))
		}
		for _, m := range members {
			m.wake()
			if m.dead {
				continue
			}
			m.set(func() {
				m.mute, m.deaf = false, false
				m.fault = func(memlease.Call) memlease.Fault { return memlease.Fault{Delay: latency} }
			})
			if m.unlinked {
				m.relink()
			}
		}
		time.Sleep(2 * duration)
		f.mustBeOrdered()
		leading := 0
		for _, r := range f.history() {
			if r.ended.IsZero() && !r.member.dead {
				leading++
			}
		}
		t.Logf("seed %d: %d terms", seed, len(f.history()))
		if leading != 1 {
			t.Fatalf("%d lead when all is quiet: %s", leading, f)
		}
	})
}

// disturb does one thing to a living member, or undoes one.
func disturb(m *member, random *rand.Rand) {
	switch random.IntN(9) {
	case 0:
		m.wake()
		m.kill()
	case 1:
		m.wake()
		m.set(func() { m.successor = m.members[random.IntN(len(m.members))].id })
		m.set(func() { m.deaf = false })
		m.stop()
	case 2:
		if m.frozen == nil {
			m.freeze()
		}
	case 3:
		m.wake()
	case 4:
		m.set(func() { m.deaf = !m.deaf })
	case 5:
		m.set(func() { m.mute = !m.mute })
	case 6:
		if m.unlinked {
			m.relink()
		} else {
			m.unlink()
		}
	case 7:
		faults := []memlease.Fault{
			{Before: election.ErrUnavailable}, {After: election.ErrUnavailable}, {Delay: time.Hour}, {Late: time.Hour},
		}
		fault, odds := faults[random.IntN(len(faults))], random.IntN(4)
		lucky := rand.New(rand.NewPCG(random.Uint64(), 1))
		m.set(func() {
			m.fault = func(memlease.Call) memlease.Fault {
				if lucky.IntN(4) >= odds {
					return memlease.Fault{Delay: latency}
				}
				return fault
			}
		})
	case 8:
		m.SendSuspicion(uint64(random.IntN(5)))
	}
}

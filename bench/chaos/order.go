//go:build unix

package chaos

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// order is a job that a customer wants done.
type order struct {
	name   string   // of its kind
	job    string   // its definition
	params []string // name=value: what the result's bytes depend on
	faults []string // name=value: how long it takes and what goes wrong
	flags  []string // of submit

	cancelAfter time.Duration // 0: never
	needs       time.Duration // it is not placed later than this before the end of faults
	large       bool          // its partials are blobs of their own

	want   store.State
	reason string // which the error of a job that fails contains
}

// menu is the kinds of orders. Jobs that a cluster without faults needs a few
// seconds for, and one that would not end.
var menu = []func(*rand.Rand) order{
	func(r *rand.Rand) order {
		return trial("even", 100+r.IntN(200), "sleep=20ms")
	},
	func(r *rand.Rand) order {
		return trial("uneven", 50+r.IntN(100), "sleep=10ms", "cost-every=17", "cost-factor=30")
	},
	func(r *rand.Rand) order {
		o := trial("urgent", 20+r.IntN(50), "sleep=20ms")
		o.flags = []string{"--priority", "10"}
		return o
	},
	func(r *rand.Rand) order {
		o := trial("partials of 20 kB", 50+r.IntN(50), "sleep=30ms")
		o.params = append(o.params, "partial-size=20000")
		return o
	},
	func(r *rand.Rand) order {
		o := trial("partials of 700 kB", 20+r.IntN(20), "sleep=50ms")
		o.params = append(o.params, "partial-size=700000")
		o.large = true
		return o
	},
	func(r *rand.Rand) order {
		return order{
			name: "primes", job: "primes", want: store.Completed,
			params: []string{fmt.Sprintf("limit=%d", 5_000_000+r.IntN(5_000_000)), "width=100000"},
		}
	},
	func(r *rand.Rand) order {
		return order{
			name: "prices", job: "montecarlo", want: store.Completed,
			params: []string{fmt.Sprintf("seed=%d", r.IntN(1000)), "option=asian", "steps=4", "paths=100000", "batch=1000"},
		}
	},
	func(r *rand.Rand) order {
		o := trial("partitions that fail twice", 100, "sleep=10ms", fmt.Sprintf("fail-every=%d", 10+r.IntN(20)), "times=2")
		o.flags = []string{"--max-attempts", "5"}
		return o
	},
	func(r *rand.Rand) order {
		return trial("a partition that panics once", 100, "sleep=10ms", fmt.Sprintf("panic=%d", r.IntN(100)))
	},
	func(r *rand.Rand) order {
		return trial("a partition that ends its process twice", 100, "sleep=10ms", fmt.Sprintf("exit=%d", r.IntN(100)), "times=2")
	},
	func(r *rand.Rand) order {
		deadly := r.IntN(50)
		o := trial("a partition that ends its process", 50, "sleep=10ms", fmt.Sprintf("exit=%d", deadly), "times=1000")
		o.want, o.reason = store.Failed, fmt.Sprintf("partition %d ", deadly)
		o.needs = 30 * time.Second
		return o
	},
	func(r *rand.Rand) order {
		hopeless := r.IntN(100)
		o := trial("a partition that fails for good", 100, "sleep=10ms", fmt.Sprintf("permanent=%d", hopeless), "times=1000")
		o.want, o.reason = store.Failed, fmt.Sprintf("partition %d ", hopeless)
		return o
	},
	func(r *rand.Rand) order {
		o := trial("cancelled", 100_000, "sleep=50ms")
		o.want, o.cancelAfter = store.Cancelled, drawn(r, 0, 3*time.Second)
		return o
	},
}

func trial(name string, partitions int, faults ...string) order {
	return order{
		name: name, job: "probe", want: store.Completed,
		params: []string{fmt.Sprintf("partitions=%d", partitions)}, faults: faults,
	}
}

// orders deals a customer's orders: one of each kind in an order by chance, and so on.
type orders struct {
	chance *rand.Rand
	rest   []int
}

func newOrders(seed uint64, customer int) *orders {
	return &orders{chance: rand.New(rand.NewPCG(seed, uint64(customer)))}
}

func (o *orders) next() order {
	if len(o.rest) == 0 {
		o.rest = o.chance.Perm(len(menu))
	}
	kind := o.rest[0]
	o.rest = o.rest[1:]
	return menu[kind](o.chance)
}

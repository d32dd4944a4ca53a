package jobs

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// someKept has random nodes.
type someKept map[Key]bool

func (k someKept) Has(key Key) bool                           { return k[key] }
func (someKept) Get(context.Context, Key) (KeptPartial, bool) { return KeptPartial{}, false }
func (someKept) Keep(context.Context, Key, KeptPartial)       {}

// TestFindSkipsNothing compares find, which skips the nodes below a kept node, with a list of all nodes, for trees of
// several blocks.
func TestFindSkipsNothing(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 255, 256, 257, 700, 1025, 1537} {
		for seed := range uint64(12) { // one for each density below
			random, kept := rand.New(rand.NewPCG(n, seed)), someKept{}
			r := newReuser(Reuse{Kept: kept}, nil, Plan{Partitions: n, Data: binary.AppendUvarint(nil, n)})
			tree, err := engine.NewTree(n)
			if err != nil {
				t.Fatal(err)
			}
			var want []keptNode
			all := engine.Span{Hi: n}
			root := r.walk(t.Context(), tree, all, func(block []keptNode) {
				for _, one := range block {
					if random.Uint64N(1<<(seed%12)) != 0 {
						continue
					}
					kept[one.key] = true
					for len(want) > 0 && want[len(want)-1].span.Lo >= one.span.Lo {
						want = want[:len(want)-1]
					}
					want = append(want, one)
				}
			})
			if found, key := r.find(t.Context(), tree, all); !slices.Equal(found, want) || key != root || key == (Key{}) {
				t.Fatalf("%d partitions, seed %d: found %v, want %v", n, seed, found, want)
			}
		}
	}
}

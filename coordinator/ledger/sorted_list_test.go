package ledger

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type number int

func (n number) Compare(m number) int { return int(n - m) }

// TestSortedList compares a sortedList with a sorted slice.
func TestSortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list sortedList[number]
		var want []number
		draw := rapid.Custom(func(t *rapid.T) number { return number(rapid.IntRange(0, 2000).Draw(t, "number")) })
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			from, n, step := draw.Draw(t, "from"), rapid.IntRange(1, 600).Draw(t, "n"), rapid.SampledFrom([]int{1, -1, 7, 37}).Draw(t, "step")
			removes := rapid.Bool().Draw(t, "removes")
			if rapid.IntRange(0, 4).Draw(t, "range") == 0 {
				lo, hi := from, from+number(n)
				list.removeRange(lo, hi)
				want = slices.DeleteFunc(want, func(x number) bool { return x >= lo && x < hi })
				n = 0
			}
			for i := range n {
				x := number(((int(from)+i*step)%2000 + 2000) % 2000)
				at, found := slices.BinarySearch(want, x)
				if p := list.find(x); (p != nil) != found || found && *p != x {
					t.Fatalf("find %d: %v, want found %v", x, p, found)
				}
				switch {
				case removes:
					list.remove(x)
					if found {
						want = slices.Delete(want, at, at+1)
					}
				case !found:
					if p := list.insert(x); *p != x {
						t.Fatalf("insert %d returns a pointer to %d", x, *p)
					}
					want = slices.Insert(want, at, x)
				}
			}
			start := draw.Draw(t, "start")
			at, _ := slices.BinarySearch(want, start)
			var got []number
			for p := range list.from(start) {
				got = append(got, *p)
			}
			if !slices.Equal(got, want[at:]) || list.len != len(want) {
				t.Fatalf("the list has %d elements, from %d on %v, want %d and %v", list.len, start, got, len(want), want[at:])
			}
			if p := list.first(start); (p != nil) != (len(got) > 0) || p != nil && *p != got[0] {
				t.Fatalf("first from %d on: %v, want the first of %v", start, p, got)
			}
			for _, c := range list.chunks {
				if len(c) == 0 || len(c) > maxChunk {
					t.Fatalf("a chunk has %d elements", len(c))
				}
			}
		}
	})
}

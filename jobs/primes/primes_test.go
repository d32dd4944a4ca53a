package primes

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"pgregory.net/rapid"
)

// published contains published results, which are in part from the b-files of the sequences. The
// sources are https://oeis.org/A006880 (counts), https://oeis.org/A007508 (twin pairs),
// https://oeis.org/A046731 (sums), https://oeis.org/A003618 (largest primes),
// https://oeis.org/A005250 (gaps) and https://oeis.org/A002386 (primes where the gaps begin).
var published = []Result{
	{Count: 4, Sum: 17, Largest: 7, TwinPairs: 2, LargestGap: 2, GapAfter: 3},
	{Count: 25, Sum: 1060, Largest: 97, TwinPairs: 8, LargestGap: 8, GapAfter: 89},
	{Count: 168, Sum: 76127, Largest: 997, TwinPairs: 35, LargestGap: 20, GapAfter: 887},
	{Count: 1229, Sum: 5736396, Largest: 9973, TwinPairs: 205, LargestGap: 36, GapAfter: 9551},
	{Count: 9592, Sum: 454396537, Largest: 99991, TwinPairs: 1224, LargestGap: 72, GapAfter: 31397},
	{Count: 78498, Sum: 37550402023, Largest: 999983, TwinPairs: 8169, LargestGap: 114, GapAfter: 492113},
	{Count: 664579, Sum: 3203324994356, Largest: 9999991, TwinPairs: 58980, LargestGap: 154, GapAfter: 4652353},
	{Count: 5761455, Sum: 279209790387276, Largest: 99999989, TwinPairs: 440312, LargestGap: 220, GapAfter: 47326693},
}

func TestPublishedTables(t *testing.T) {
	limit := uint64(1)
	for _, want := range published {
		limit *= 10
		for _, cut := range []string{"partitions=10_007", "width=10_000_000"} {
			if got := run(t, fmt.Sprintf("limit=%d", limit), cut); got != want {
				t.Errorf("below %d with %s: got %+v, want %+v", limit, cut, got, want)
			}
		}
	}
}

// TestPublishedGaps checks record gaps from the b-file of https://oeis.org/A005250. The gaps begin
// at primes (b-file of https://oeis.org/A002386) that are too large for a test to reach from zero.
func TestPublishedGaps(t *testing.T) {
	for after, gap := range map[uint64]uint64{
		1294268491: 288, 1453168141: 292, 2300942549: 320, 3842610773: 336, 4302407359: 354,
		10726904659: 382, 20678048297: 384, 22367084959: 394, 25056082087: 456, 42652618343: 464, 127976334671: 468,
		1346294310749: 582, 1408695493609: 588, 1968188556461: 602, 2614941710599: 652, 7177162611713: 674,
	} {
		block := newSieve(after + 10_000).newBlock()
		got, err := block.count(context.Background(), after-1000, after+gap+1)
		if err != nil {
			t.Fatal(err)
		}
		if got.Gap != gap || got.GapAfter != after || got.Last != after+gap {
			t.Errorf("got %+v, want a gap of %d after %d", got, gap, after)
		}
	}
}

// TestEverySmallLimit compares small limits with trial division, for all small widths of
// partitions.
func TestEverySmallLimit(t *testing.T) {
	for limit := uint64(2); limit < 130; limit++ {
		want, err := Definition.Finish(context.Background(), Params{}, byTrial(0, limit))
		if err != nil {
			t.Fatal(err)
		}
		for _, width := range []uint64{1, 2, 7, 30, 1000} {
			if got := run(t, fmt.Sprintf("limit=%d", limit), fmt.Sprintf("width=%d", width)); got != want {
				t.Fatalf("below %d, width %d: got %+v, want %+v", limit, width, got, want)
			}
		}
	}
}

// TestBlockHasNoMemory checks that the tally of a range does not depend on earlier ranges of the
// slot.
func TestBlockHasNoMemory(t *testing.T) {
	const limit = 50_000_000
	s := newSieve(limit)
	s.bytes = 4096 // small blocks, so that there are many blocks, and base primes larger than a block
	used := s.newBlock()
	whole := s.newBlock()
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Uint64Range(0, limit).Draw(t, "lo")
		hi := min(lo+rapid.Uint64Range(0, 500_000).Draw(t, "width"), limit)
		mid := rapid.Uint64Range(min(lo, hi), hi).Draw(t, "mid")
		left := count(t, used, lo, mid)
		right := count(t, used, mid, hi)
		merged, err := merge(left, right)
		if err != nil {
			t.Fatal(err)
		}
		whole.crossed = false // the block is then sieved like a new block
		if want := count(t, whole, lo, hi); merged != want {
			t.Fatalf("[%d,%d) and [%d,%d) give %+v, together %+v", lo, mid, mid, hi, merged, want)
		}
	})
}

// TestLargeNumbers compares ranges near the largest limit, and a range around the square of the
// largest base prime, with trial division.
func TestLargeNumbers(t *testing.T) {
	const limit = 1e13
	s := newSieve(limit)
	root := s.base[len(s.base)-2].value() // the last base prime may be the first prime above the square root of the limit
	for _, lo := range []uint64{limit - 300, root*root - 150} {
		if got, want := count(t, s.newBlock(), lo, lo+300), byTrial(lo, lo+300); got != want {
			t.Errorf("from %d: got %+v, want %+v", lo, got, want)
		}
	}
}

func FuzzMerge(f *testing.F) {
	f.Add(uint64(0), uint64(3), uint64(4), uint64(10))
	f.Add(uint64(880), uint64(7), uint64(20), uint64(90))
	f.Add(uint64(24), uint64(2), uint64(2), uint64(2))
	f.Fuzz(func(t *testing.T, lo, a, b, c uint64) {
		lo %= 1e6
		x, y, z := lo+a%500, lo+a%500+b%500, lo+a%500+b%500+c%500
		one, two, three := byTrial(lo, x), byTrial(x, y), byTrial(y, z)
		left, _ := merge(one, two)
		left, _ = merge(left, three)
		right, _ := merge(two, three)
		right, _ = merge(one, right)
		if want := byTrial(lo, z); left != want || right != want {
			t.Errorf("[%d,%d,%d,%d): got %+v and %+v, want %+v", lo, x, y, z, left, right, want)
		}
	})
}

func TestDoneContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := newSieve(1000).newBlock().count(ctx, 0, 1000); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

func run(t testing.TB, pairs ...string) Result {
	t.Helper()
	job := jobs.MustNew(Definition)
	params, err := job.Params(nil, pairs...)
	if err != nil {
		t.Fatal(err)
	}
	done, err := jobs.Local{Slots: 2}.Run(context.Background(), job, params)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, done.Result)
}

func decode(t testing.TB, data json.RawMessage) (r Result) {
	t.Helper()
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func count(t rapid.TB, b *block, lo, hi uint64) tally {
	t.Helper()
	got, err := b.count(context.Background(), lo, hi)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// byTrial tallies the primes in [lo, hi) by trial division.
func byTrial(lo, hi uint64) (t tally) {
	for n := max(lo, 2); n < hi; n++ {
		prime := true
		for d := uint64(2); d*d <= n && prime; d++ {
			prime = n%d != 0
		}
		if !prime {
			continue
		}
		if t.Count == 0 {
			t.First = n
		} else {
			gap := n - t.Last
			if gap == 2 {
				t.TwinPairs++
			}
			if gap > t.Gap {
				t.Gap, t.GapAfter = gap, t.Last
			}
		}
		t.Count++
		t.Sum += n
		t.Last = n
	}
	return t
}

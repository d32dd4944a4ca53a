//go:build !race

package primes

import "testing"

// TestBelowABillion checks the last row of the published tables that is fast enough for a test.
// TestBelowABillion runs only without the race detector.
func TestBelowABillion(t *testing.T) {
	want := Result{
		Count: 50847534, Sum: 24739512092254535, Largest: 999999937,
		TwinPairs: 3424506, LargestGap: 282, GapAfter: 436273009,
	}
	for _, cut := range []string{"width=10_000_000", "partitions=1_000_000"} {
		if got := run(t, "limit=1e9", cut); got != want {
			t.Errorf("with %s: got %+v, want %+v", cut, got, want)
		}
	}
}

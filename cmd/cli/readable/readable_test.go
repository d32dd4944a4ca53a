package readable

import "testing"

func TestNumbersForPeople(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 123_456: "123,456", 53_426_000_000: "53,426,000,000"} {
		if got := Count(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
	for v, want := range map[float64]string{52_300: "52,300", 1e8: "100 million", 1.264e8: "126 million", 1e9: "1 billion"} {
		if got := About(v); got != want {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	}
	for n, want := range map[int]string{0: "0 slots", 1: "1 slot", 2: "2 slots"} {
		if got := Plural(n, "slot"); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

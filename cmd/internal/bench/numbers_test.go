package bench

import "testing"

func TestWholeNumbersAreExact(t *testing.T) {
	for word, want := range map[string]uint64{
		"0": 0, "1000": 1000, "1e3": 1000, "1.5e3": 1500, "1e17": 1e17, "4611686018427387904": 1 << 62,
		"9007199254740993": 1<<53 + 1, "9.007199254740993e15": 1<<53 + 1, "18446744073709551615": 1<<64 - 1,
	} {
		if got, ok := wholeNumber(word); got != want || !ok {
			t.Errorf("%s: got %d, %v", word, got, ok)
		}
	}
	for _, word := range []string{"", "many", "1.5", "1e-3", "-1", "2e19", "18446744073709551616", "1e999999999", "Inf", "NaN"} {
		if got, ok := wholeNumber(word); ok {
			t.Errorf("%s: got %d", word, got)
		}
	}
}

package jobs

import (
	"math"
	"testing"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]uint64{
		"0": 0, "65536": 65536, "512B": 512, "3GiB": 3 << 30, "3gib": 3 << 30, "64 MiB": 64 << 20, "10M": 1e7, "10MB": 1e7, "1.5e9": 1.5e9, "1.5Ki": 1536,
		"18446744073709551615": math.MaxUint64,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "much", "-1", "1.5", "1.0001k", "16Ei", "20000P", "1e99", "B", "GiB", "1e"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
}

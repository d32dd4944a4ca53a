package cli

import (
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
)

func TestDescribeMissing(t *testing.T) {
	for want, m := range map[string]jobs.Missing{
		"2 of 11,680":                            {Partitions: 2},
		"2 of 11,680; objects: 1 new, 0 changed": {Partitions: 2, Compared: true, New: 1},
		"2 of 11,680; objects: 0 new, 0 changed; 2 whose input may still change without a trace": {Partitions: 2, Compared: true, Uncertain: 2},
	} {
		if got := describeMissing(m, 11_680); got != want {
			t.Errorf("%+v: got %q, want %q", m, got, want)
		}
	}
}

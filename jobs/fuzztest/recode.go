package fuzztest

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

// Recode fuzzes a format. The function recode decodes its input and encodes the value again. If
// recode accepts an input, it must also accept its own output and return that output unchanged. If
// recode refuses an input, the error must be one of refusals. The seeds are encoded values, to
// which Recode adds damaged copies.
func Recode(f *testing.F, recode func(data []byte) ([]byte, error), refusals []error, seeds ...[]byte) {
	for _, seed := range seeds {
		f.Add(seed)
		f.Add(seed[:len(seed)/2])
		f.Add(append(bytes.Clone(seed), 0))
		if len(seed) > 0 {
			damaged := bytes.Clone(seed)
			damaged[len(seed)/2] ^= 0x80
			f.Add(damaged)
		}
	}
	f.Add([]byte{})
	corpus := Watch(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		once, err := recode(data)
		if err != nil {
			if !slices.ContainsFunc(refusals, func(known error) bool { return errors.Is(err, known) }) {
				t.Fatalf("refused with an error of no known kind: %v", err)
			}
			corpus.Refused()
			return
		}
		corpus.Taken()
		twice, err := recode(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%x is encoded as %x, and that as %x, %v", data, once, twice, err)
		}
	})
}

package fuzztest

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

// Recode fuzzes a format. The function decodes and encodes again. What it takes
// must encode to bytes that it takes too, and that stay as they are; it refuses
// with one of the errors. Seeds are what encoders make; damaged ones are added.
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

package store

import (
	"bytes"
	"errors"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

func FuzzDecodeSpec(f *testing.F)       { fuzz(f, "spec") }
func FuzzDecodePlan(f *testing.F)       { fuzz(f, "plan") }
func FuzzDecodeManifest(f *testing.F)   { fuzz(f, "manifest") }
func FuzzDecodeTerm(f *testing.F)       { fuzz(f, "term") }
func FuzzDecodeJournal(f *testing.F)    { fuzz(f, "journal") }
func FuzzDecodePoisoned(f *testing.F)   { fuzz(f, "poison") }
func FuzzDecodeSubmission(f *testing.F) { fuzz(f, "submission") }
func FuzzDecodeIdentity(f *testing.F)   { fuzz(f, "identity") }

func fuzz(f *testing.F, name string) {
	for _, format := range formats {
		if format.name != name {
			continue
		}
		recode := func(data []byte) ([]byte, error) {
			v, err := format.decode(data)
			if err != nil {
				return nil, err
			}
			return format.encode(v), nil
		}
		seeds := [][]byte{{1, 0xa0}, {2, 0xa0}}
		for _, v := range format.values {
			seeds = append(seeds, format.encode(v))
		}
		fuzztest.Recode(f, recode, []error{ErrCorrupt}, seeds...)
		return
	}
	f.Fatalf("no format %q", name)
}

// FuzzPartial checks that decoding a stored partial returns the stored bytes.
func FuzzPartial(f *testing.F) {
	f.Add(encodePartial(engine.Node{Level: 3, Index: 1 << 40}, []byte("partial")))
	f.Add(encodePartial(engine.Leaf(0), nil))
	f.Add(encodePartial(engine.Leaf(7), []byte("longer than the header")))
	f.Add([]byte("short"))
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, value []byte) {
		data, err := decodePartial(bytes.Clone(value)) // a copy, because decodePartial changes its argument
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%v is no ErrCorrupt", err)
			}
			corpus.Refused()
			return
		}
		corpus.Taken()
		if header := value[:partialHeader]; !bytes.Equal(append(bytes.Clone(header), data...), value) {
			t.Fatalf("%x holds %x", value, data)
		}
	})
}

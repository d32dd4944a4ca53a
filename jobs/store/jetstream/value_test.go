package jetstream

import (
	"bytes"
	"errors"
	"testing"

	"github.com/nats-io/nuid"

	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

func FuzzDecodeValue(f *testing.F) {
	f.Add([]byte{})
	f.Add(appendInline(nil, nil))
	f.Add(appendInline(nil, []byte("value")))
	f.Add(encodePointer(pointer{Name: nuid.Next(), Size: 1 << 20, Chunk: 512 << 10, SHA256: [32]byte{1}}))
	f.Add(encodePointer(pointer{Name: "no name", Size: 1, Chunk: 1}))
	f.Add([]byte{valuePointer, 0xa0})
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		value, large, err := decodeValue(data)
		switch {
		case err != nil:
			if !errors.Is(err, store.ErrCorrupt) {
				t.Fatalf("%v is no ErrCorrupt", err)
			}
			corpus.Refused()
		case large == nil:
			corpus.Taken()
			if !bytes.Equal(appendInline(nil, value), data) {
				t.Fatalf("%x does not encode as it was", data)
			}
		default:
			corpus.Taken()
			lo, hi := large.bounds(large.chunks() - 1)
			if lo >= hi || hi != large.Size {
				t.Fatalf("%+v: the last chunk is [%d,%d)", large, lo, hi)
			}
			_, again, err := decodeValue(encodePointer(*large))
			if err != nil || *again != *large {
				t.Fatalf("%+v reads back as %+v, %v", large, again, err)
			}
		}
	})
}

func FuzzParseVersion(f *testing.F) {
	f.Add("1")
	f.Add("0")
	f.Add("")
	f.Add("18446744073709551616")
	f.Add(string(makeVersion(7, &pointer{Name: nuid.Next()})))
	f.Add("7.")
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, v string) {
		revision, large, ok := parseVersion(store.Version(v))
		if !ok {
			corpus.Refused()
			return
		}
		corpus.Taken()
		var p *pointer
		if large != "" {
			p = &pointer{Name: large}
		}
		again, largeAgain, ok := parseVersion(makeVersion(revision, p))
		if !ok || again != revision || largeAgain != large {
			t.Fatalf("%q is %d, %q and then %d, %q", v, revision, large, again, largeAgain)
		}
	})
}

func FuzzKeyToken(f *testing.F) {
	f.Add("a/b.c-d", "a/b/c-d")
	f.Add("a", "a.")
	f.Add("A", "a")
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, one, two string) {
		token, err := keyToken(one)
		if err != nil {
			corpus.Refused()
			return
		}
		corpus.Taken()
		if got := fromToken.Replace(token); got != one {
			t.Fatalf("%q becomes %q and then %q", one, token, got)
		}
		if other, err := keyToken(two); err == nil && (token == other) != (one == two) {
			t.Fatalf("%q and %q become %q and %q", one, two, token, other)
		}
	})
}

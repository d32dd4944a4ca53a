package kept

import (
	"encoding/binary"
	"math/bits"
)

// index finds entries by the prefixes of their keys. Prefixes are hashes, so each of about as many buckets as
// entries has about one. An entry takes 48 bytes, and its bucket 4 bytes.
type index struct {
	starts  []uint32 // for each bucket, the index of its first entry; one more at the end
	entries []entry
	shift   int
}

// bucket returns the bucket of a prefix: its first bits.
func (x index) bucket(p prefix) uint64 { return binary.BigEndian.Uint64(p[:]) >> x.shift }

// find returns the first entry with a prefix.
func (x index) find(p prefix) (entry, bool) {
	if len(x.entries) == 0 {
		return entry{}, false
	}
	b := x.bucket(p)
	for _, e := range x.entries[x.starts[b]:x.starts[b+1]] {
		if e.prefix == p {
			return e, true
		}
	}
	return entry{}, false
}

// builder makes an index.
type builder struct{ entries []entry }

func newBuilder(list []*pack) *builder {
	count := uint64(0)
	for _, one := range list {
		count += one.record.Count
	}
	return &builder{make([]entry, 0, count)}
}

// add adds the entries of a pack. If the entries are damaged, add adds none.
func (b *builder) add(number uint32, r indexRecord) error {
	before := len(b.entries)
	err := r.eachEntry(func(e entry) {
		e.pack = number
		b.entries = append(b.entries, e)
	})
	if err != nil {
		b.entries = b.entries[:before]
	}
	return err
}

// build sorts the entries into buckets.
func (b *builder) build() index {
	x := index{shift: 64 - bits.Len(uint(len(b.entries)))}
	x.starts = make([]uint32, 1<<(64-x.shift)+1)
	for _, e := range b.entries {
		x.starts[x.bucket(e.prefix)+1]++
	}
	for i := 1; i < len(x.starts); i++ {
		x.starts[i] += x.starts[i-1]
	}
	// Each entry moves into the next free place of its bucket, in place: a cycle ends where it began.
	next := append([]uint32{}, x.starts...)
	for i := range x.starts[:len(x.starts)-1] {
		for next[i] < x.starts[i+1] {
			at := next[i]
			bucket := x.bucket(b.entries[at].prefix)
			to := next[bucket]
			next[bucket]++
			b.entries[at], b.entries[to] = b.entries[to], b.entries[at]
		}
	}
	x.entries = b.entries
	return x
}

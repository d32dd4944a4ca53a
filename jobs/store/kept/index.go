package kept

import (
	"encoding/binary"
	"math/bits"
)

// index finds entries by the prefixes of their keys. Prefixes are hashes, so each of about as many buckets as
// entries has about one. For each entry, the index takes 20 bytes beside the stored form, which takes about 22. The places are in the
// order of the packs, which is about the order in which a job looks for the entries, so most lookups find them in the
// processor's cache.
type index struct {
	stored  [][]byte // for each pack, the stored form of its entries
	places  []place
	buckets []uint32 // indexes in places, bucket by bucket
	starts  []uint32 // for each bucket, the index of its beginning in buckets; one more at the end
	shift   int
}

// place describes where an entry is.
type place struct {
	pack   uint32 // index of the pack in Partials.packs
	at     uint32 // position in the stored form of the pack's entries
	offset uint32 // see entry
}

func (x index) prefix(p place) prefix { return prefix(x.stored[p.pack][p.at:]) }

// bucket returns the bucket of a prefix: its first bits.
func (x index) bucket(p prefix) uint64 { return binary.BigEndian.Uint64(p[:]) >> x.shift }

// find returns the first entry with a prefix.
func (x index) find(p prefix) (entry, bool) {
	if len(x.places) == 0 {
		return entry{}, false
	}
	b := x.bucket(p)
	for _, i := range x.buckets[x.starts[b]:x.starts[b+1]] {
		if one := x.places[i]; x.prefix(one) == p {
			e, _ := readEntry(x.stored[one.pack][one.at:])
			e.pack, e.offset = one.pack, one.offset
			return e, true
		}
	}
	return entry{}, false
}

// builder makes an index.
type builder struct {
	stored [][]byte
	places []place
}

func newBuilder(list []*pack) *builder {
	count := uint64(0)
	for _, one := range list {
		count += one.record.Count
	}
	return &builder{places: make([]place, 0, count)}
}

// add adds the entries of the next pack. If the entries are damaged, add adds none.
func (b *builder) add(r indexRecord) error {
	before, number := len(b.places), uint32(len(b.stored))
	err := r.eachEntry(func(at int, e entry) {
		b.places = append(b.places, place{number, uint32(at), e.offset})
	})
	if err != nil {
		b.places = b.places[:before]
		return err
	}
	b.stored = append(b.stored, r.Entries)
	return nil
}

// build makes the buckets.
func (b *builder) build() index {
	x := index{stored: b.stored, places: b.places, buckets: make([]uint32, len(b.places)), shift: 64 - bits.Len(uint(len(b.places)))}
	x.starts = make([]uint32, 1<<(64-x.shift)+1)
	for _, p := range x.places {
		x.starts[x.bucket(x.prefix(p))]++
	}
	sum := uint32(0)
	for i, n := range x.starts {
		sum += n
		x.starts[i] = sum // the end of the bucket, from which it is filled
	}
	for i := len(x.places) - 1; i >= 0; i-- {
		b := x.bucket(x.prefix(x.places[i]))
		x.starts[b]--
		x.buckets[x.starts[b]] = uint32(i)
	}
	return x
}

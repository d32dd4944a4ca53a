package kept

import (
	"encoding/binary"
	"math/bits"
)

// index finds entries by the prefixes of their keys. Prefixes are hashes, so each of about as many buckets as
// entries has about one. For each entry, the index takes 20 bytes beside the stored form, which takes about 22.
type index struct {
	stored [][]byte // for each pack, the stored form of its entries
	places []place  // bucket by bucket, in the order of the packs
	starts []uint32 // for each bucket, the index of its first place; more at the end
	shift  int
}

// place describes where an entry is.
type place struct {
	tag    uint32 // part of the prefix, so that few entries are read that have another one
	pack   uint32 // index of the pack in Partials.packs
	at     uint32 // position in the stored form of the pack's entries
	offset uint32 // see entry
}

// bucket returns the bucket of a prefix: its first bits.
func (x index) bucket(p prefix) uint64 { return binary.BigEndian.Uint64(p[:]) >> x.shift }

func tagOf(p prefix) uint32 { return binary.BigEndian.Uint32(p[8:]) }

// find returns the first entry with a prefix.
func (x index) find(p prefix) (entry, bool) {
	if len(x.places) == 0 {
		return entry{}, false
	}
	b, tag := x.bucket(p), tagOf(p)
	for _, one := range x.places[x.starts[b]:x.starts[b+1]] {
		if one.tag != tag {
			continue
		}
		if e, _ := readEntry(x.stored[one.pack][one.at:]); e.prefix == p {
			e.pack, e.offset = one.pack, one.offset
			return e, true
		}
	}
	return entry{}, false
}

// builder makes an index.
type builder struct {
	packs []indexRecord
	count uint64
}

// add adds the entries of the next pack. If the entries are damaged, add adds none.
func (b *builder) add(r indexRecord) error {
	if err := r.eachEntry(func(int, entry) {}); err != nil {
		return err
	}
	b.packs, b.count = append(b.packs, r), b.count+r.Count
	return nil
}

// build makes the buckets. The loop over all entries runs twice, first to count the entries of each bucket.
func (b *builder) build() index {
	x := index{places: make([]place, b.count), shift: 64 - bits.Len64(b.count)}
	x.starts = make([]uint32, 1<<(64-x.shift)+2)
	b.each(func(_ uint32, _ int, e entry) { x.starts[x.bucket(e.prefix)+2]++ })
	for i := 1; i < len(x.starts); i++ {
		x.starts[i] += x.starts[i-1]
	}
	b.each(func(pack uint32, at int, e entry) {
		next := &x.starts[x.bucket(e.prefix)+1] // it ends at the beginning of the next bucket
		x.places[*next] = place{tagOf(e.prefix), pack, uint32(at), e.offset}
		*next++
	})
	for _, r := range b.packs {
		x.stored = append(x.stored, r.Entries)
	}
	return x
}

// each calls do with all entries in order.
func (b *builder) each(do func(pack uint32, at int, e entry)) {
	for i, r := range b.packs {
		_ = r.eachEntry(func(at int, e entry) { do(uint32(i), at, e) }) // add has checked the entries
	}
}

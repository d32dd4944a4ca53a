package scan

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// keyTable is a hash table that numbers the keys of groups. The index uses open addressing and linear probing.
// The low bits of an entry of the index are the number of a key plus 1, and the others are the highest bits of its hash, so that
// find skips most entries of other keys without a read of their hashes. An empty entry is 0. The zero value is empty.
type keyTable struct {
	hashes []uint64
	ends   []int    // end of each key in keys
	keys   []byte   // concatenated keys
	index  []uint32 // all entries between the length and the capacity are empty

	repeated int // number of keys that find did not add
}

const (
	numberBits = 18 // of an entry of the index
	maxKeys    = 1<<numberBits - 1
)

const _ = uint(maxKeys - maxGroups) // a full table has at most maxGroups keys

// entryOf returns the entry of the index for a key.
func entryOf(hash uint64, group int) uint32 {
	return uint32(hash>>(32+numberBits))<<numberBits | uint32(group+1)
}

func (t *keyTable) key(group int) []byte {
	begin := 0
	if group > 0 {
		begin = t.ends[group-1]
	}
	return t.keys[begin:t.ends[group]]
}

// hash returns the hash of a key, which is used only within this process. It has special code for
// short keys, because most keys are short.
func hash(key []byte) uint64 {
	n := len(key)
	if n < 8 || n > 16 {
		return xxhash.Sum64(key)
	}
	// The words first and last may overlap, and together they contain the whole key. The constants
	// are the first digits of pi.
	first, last := binary.LittleEndian.Uint64(key), binary.LittleEndian.Uint64(key[n-8:])
	high, low := bits.Mul64(first^0x243f6a8885a308d3, last^0x13198a2e03707344^uint64(n))
	return high ^ low
}

// find returns the number of a key. If the table does not have the key, find adds it. The table must have fewer than maxKeys keys.
func (t *keyTable) find(key []byte) (group int, added bool) {
	if 2*len(t.hashes) >= len(t.index) {
		t.enlarge()
	}
	h, mask := hash(key), uint64(len(t.index)-1)
	own := entryOf(h, len(t.hashes))
	for at := h & mask; ; at = (at + 1) & mask {
		entry := t.index[at]
		if entry == 0 {
			t.hashes = append(t.hashes, h)
			t.keys = append(t.keys, key...)
			t.ends = append(t.ends, len(t.keys))
			t.index[at] = own
			return len(t.hashes) - 1, true
		}
		if (entry^own)>>numberBits != 0 {
			continue
		}
		if g := int(entry&maxKeys) - 1; t.hashes[g] == h && bytes.Equal(t.key(g), key) {
			t.repeated++
			return g, false
		}
	}
}

// enlarge makes a larger index, in which at most a quarter of the entries is used.
func (t *keyTable) enlarge() {
	clear(t.index)
	size := max(64, 1<<bits.Len(uint(4*len(t.hashes))))
	if size > cap(t.index) {
		t.index = make([]uint32, size)
	}
	t.index = t.index[:size]
	mask := uint64(size - 1)
	for g, h := range t.hashes {
		at := h & mask
		for t.index[at] != 0 {
			at = (at + 1) & mask
		}
		t.index[at] = entryOf(h, g)
	}
}

// empty removes all keys, but keeps the memory. If there will be few keys, the index becomes small.
func (t *keyTable) empty(few bool) {
	clear(t.index)
	if few {
		t.index = t.index[:0]
	}
	t.hashes, t.ends, t.keys, t.repeated = t.hashes[:0], t.ends[:0], t.keys[:0], 0
}

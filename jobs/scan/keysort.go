package scan

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
)

// entry is a key of a table while the keys are sorted.
type entry struct {
	begin uint64 // first bytes of the key after the prefix that all keys share
	group uint32
}

// entries contains memory for sorting. The second slice takes the entries of every other pass.
type entries [2][]entry

var sortMemories = sync.Pool{New: func() any { return new(entries) }}

// sorted calls use with each group, in the ascending order of the bytes of their keys. A radix sort of the first bytes of the keys
// does most of the work. With a sort by comparison, encodeRun would take twice as long.
func (t *keyTable) sorted(use func(group int)) {
	memory := sortMemories.Get().(*entries)
	defer sortMemories.Put(memory)
	for i := range memory {
		memory[i] = slices.Grow(memory[i][:0], len(t.hashes))[:len(t.hashes)]
	}
	shared := len(t.sharedPrefix())
	order := memory[0]
	for g := range order {
		order[g] = entry{firstWord(t.key(g)[shared:]), uint32(g)}
	}
	order, by := radixSort(order, memory[1])
	for begin := 0; begin < len(order); {
		end := begin + 1
		for end < len(order) && (order[end].begin^order[begin].begin)&by == 0 {
			end++
		}
		if end > begin+1 {
			slices.SortFunc(order[begin:end], func(a, b entry) int {
				if a.begin != b.begin {
					return cmp.Compare(a.begin, b.begin)
				}
				return bytes.Compare(t.key(int(a.group)), t.key(int(b.group)))
			})
		}
		begin = end
	}
	for _, e := range order {
		use(int(e.group))
	}
}

// sharedPrefix returns the longest prefix of all keys.
func (t *keyTable) sharedPrefix() []byte {
	shared := t.key(0)
	for g := range t.hashes {
		for !bytes.HasPrefix(t.key(g), shared) {
			shared = shared[:len(shared)-1]
		}
	}
	return shared
}

// firstWord returns the first bytes of a key as an integer, in which shorter keys end with zeros.
func firstWord(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var word [8]byte
	copy(word[:], key)
	return binary.BigEndian.Uint64(word[:])
}

// radixSort sorts entries by the first bytes of begin, as many as probably differ between most entries. The bits of these bytes are
// set in by. The result is in list or in spare, which has the same length.
func radixSort(list, spare []entry) (sorted []entry, by uint64) {
	var counts [8][256]int
	for _, e := range list {
		for i := range counts {
			counts[i][byte(e.begin>>(8*i))]++
		}
	}
	last := len(counts)
	for values := 1; last > 0 && values < len(list); { // values of the bytes, if they were independent
		last--
		different := 0
		for _, n := range counts[last] {
			if n > 0 {
				different++
			}
		}
		values *= different
	}
	for i := last; i < len(counts); i++ {
		count := &counts[i]
		if count[byte(list[0].begin>>(8*i))] == len(list) {
			continue
		}
		at := 0
		for b, n := range count {
			count[b], at = at, at+n
		}
		for _, e := range list {
			b := byte(e.begin >> (8 * i))
			spare[count[b]] = e
			count[b]++
		}
		list, spare = spare, list
	}
	return list, ^uint64(0) << (8 * last)
}

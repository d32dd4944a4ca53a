package probe

import (
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"slices"
)

// partial counts partitions in a way that detects missing and repeated partitions. A partial of
// four words fits in registers, which halves the time of a partition that does nothing.
type partial struct {
	Count uint64 `cbor:"1,keyasint"`
	Sum   uint64 `cbor:"2,keyasint"`           // sum of the hashes of the partition numbers
	Xor   uint64 `cbor:"3,keyasint"`           // exclusive or of the hashes of the partition numbers
	Block *block `cbor:"4,keyasint,omitempty"` // exclusive or of the partitions' blocks; nil if partitions have no blocks
}

// block is a block of bytes with methods for its encoding. Without encoding methods, a pointer to
// an empty []byte would be decoded as a nil pointer.
type block []byte

func (b block) MarshalBinary() ([]byte, error) { return b, nil }

func (b *block) UnmarshalBinary(data []byte) error {
	*b = slices.Clone(data)
	return nil
}

func (p partial) block() []byte {
	if p.Block == nil {
		return nil
	}
	return *p.Block
}

func newPartial(partition, size uint64) partial {
	h := hash(partition)
	p := partial{Count: 1, Sum: h, Xor: h}
	if size > 0 {
		b := block(newBlock(h, size))
		p.Block = &b
	}
	return p
}

func merge(left, right partial) (partial, error) {
	if left.Block != nil || right.Block != nil {
		l, r := left.block(), right.block()
		if len(l) != len(r) {
			return partial{}, fmt.Errorf("blocks of %d and %d bytes do not go together", len(l), len(r))
		}
		subtle.XORBytes(l, l, r)
	}
	left.Count += right.Count
	left.Sum += right.Sum
	left.Xor ^= right.Xor
	return left, nil
}

// hash applies the output function of the random number generator SplitMix64 (Steele, Lea, Flood: Fast
// splittable pseudorandom number generators, 2014). hash first adds the increment of SplitMix64 to n, so that
// the hash of 0 is not 0.
func hash(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// newBlock makes the block of a partition. Without norace, the race detector would follow each byte of
// memory that nobody else has yet, and take twenty times as long.
//
//go:norace
func newBlock(seed, size uint64) []byte {
	block := make([]byte, (size+7)/8*8)
	for i := 0; i < len(block); i += 8 {
		binary.LittleEndian.PutUint64(block[i:], hash(seed+uint64(i)))
	}
	return block[:size]
}

package engine

import (
	"crypto/sha256"
	"slices"
)

// SHA256 is the SHA-256 of an encoded value.
type SHA256 = [sha256.Size]byte

// digestStep is the number of bytes that are hashed in one call. The Go runtime cannot preempt a
// goroutine during a call that hashes bytes, and a garbage collection stops all other goroutines
// until the call returns. A leader that hashes 160 MB in one call would therefore not answer pings
// for 100 ms.
const digestStep = 1 << 20

// Digest returns the SHA-256 of data. Other goroutines of the process continue while Digest hashes
// large data.
func Digest(data []byte) (sum SHA256) {
	h := sha256.New()
	for piece := range slices.Chunk(data, digestStep) {
		_, _ = h.Write(piece) // Write of a hash never returns an error
	}
	h.Sum(sum[:0])
	return sum
}

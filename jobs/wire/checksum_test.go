package wire

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/dustin/go-humanize"
)

func TestChecksum(t *testing.T) {
	random := rand.NewChaCha8([32]byte{})
	data := make([]byte, 2*readAheadFrom+1)
	_, _ = random.Read(data)
	for _, n := range []int{0, 1, readAheadPiece, readAheadFrom - 1, readAheadFrom, readAheadFrom + 1, readAheadFrom / readAheadPiece * readAheadPiece, len(data)} {
		if got, want := Checksum(data[:n]), crc32.Checksum(data[:n], castagnoli); got != want {
			t.Errorf("%d bytes: %08x, want %08x", n, got, want)
		}
	}
}

func BenchmarkChecksum(b *testing.B) {
	for _, size := range []int{4e3, 1e5, 1e6, 2e6, 8e6, 16e7} {
		data := bytes.Repeat([]byte{1}, size) // untouched memory would be one page
		b.Run(humanize.Bytes(uint64(size)), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				Checksum(data)
			}
		})
	}
}

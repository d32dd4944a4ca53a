package wire

import (
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// castagnoli is the polynomial of CRC-32C (RFC 3720, section 12.1), for which
// processors have instructions.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// NewPartial returns a partial that contains data and its checksum.
func NewPartial(node engine.Node, data []byte) Partial {
	return Partial{Node: node, Data: data, Sum: Checksum(data)}
}

// checksumPiece is the number of bytes of an update, because the Go runtime cannot preempt a goroutine
// during an update.
const checksumPiece = 1 << 20

const (
	// readAheadFrom is the number of bytes from which data are probably not in the processor's cache.
	readAheadFrom = 4 << 20
	// readAheadPiece is the number of bytes that are read ahead of an update: an update on amd64
	// computes three checksums of 1,344 bytes at once, and combines them.
	readAheadPiece = 3 * 1344
	cacheLine      = 64
)

// Checksum returns the CRC-32C of data.
func Checksum(data []byte) uint32 { return UpdateChecksum(0, data) }

// UpdateChecksum adds data to a CRC-32C.
func UpdateChecksum(sum uint32, data []byte) uint32 {
	size := checksumPiece
	if len(data) >= readAheadFrom {
		size = readAheadPiece
	}
	for piece := range slices.Chunk(data, size) {
		if size == readAheadPiece {
			readAhead(piece)
		}
		sum = crc32.Update(sum, castagnoli, piece)
	}
	return sum
}

// readAhead reads data into the processor's cache. An update reads data at three places in turns, which
// keeps the processor from reading ahead, so that without readAhead the checksum of data in memory
// takes up to three times as long.
//
//go:noinline
func readAhead(data []byte) (sum byte) { // the sum keeps the compiler from removing the reads
	for i := 0; i < len(data); i += cacheLine {
		sum += data[i]
	}
	return sum
}

// NewOutput returns the output of a call of Plan or Finish, with a checksum of data. The parameter
// partitions is 0 for Finish.
func NewOutput(function Function, partitions uint64, data []byte) Output {
	return Output{Function: function, Partitions: partitions, Data: data, Sum: Checksum(data)}
}

func (p Partial) Check() error {
	if sum := Checksum(p.Data); sum != p.Sum {
		return damaged("partial of node "+p.Node.String(), p.Sum, sum)
	}
	return nil
}

func (o Output) Check() error {
	if sum := Checksum(o.Data); sum != o.Sum {
		return damaged("output of "+o.Function.String(), o.Sum, sum)
	}
	return nil
}

func damaged(what string, want, sum uint32) error {
	return fmt.Errorf("%w: %s has checksum %08x, its data %08x", ErrMalformed, what, want, sum)
}

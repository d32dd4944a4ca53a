package wire

import (
	"fmt"
	"hash/crc32"

	"github.com/bellwether-compute/bellwether/jobs"
)

// castagnoli is the polynomial of CRC-32C (RFC 3720, section 12.1), for which
// processors have instructions.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// NewPartial returns a partial that contains data and its checksum.
func NewPartial(node jobs.Node, data []byte) Partial {
	return Partial{Node: node, Data: data, Sum: Checksum(data)}
}

// Checksum returns the CRC-32C of data.
func Checksum(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }

// Check returns an error if Sum is not the checksum of Data.
func (p Partial) Check() error {
	if sum := Checksum(p.Data); sum != p.Sum {
		return fmt.Errorf("%w: partial of node %v has checksum %08x, its data %08x", ErrMalformed, p.Node, p.Sum, sum)
	}
	return nil
}

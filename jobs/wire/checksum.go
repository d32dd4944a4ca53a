package wire

import (
	"fmt"
	"hash/crc32"
	"slices"

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
func Checksum(data []byte) (sum uint32) {
	for piece := range slices.Chunk(data, 1<<20) { // short updates, because the Go runtime cannot preempt a goroutine during an update
		sum = crc32.Update(sum, castagnoli, piece)
	}
	return sum
}

// NewOutput returns the output of a call of Plan or Finish, with a checksum of data. The parameter
// partitions is 0 for Finish.
func NewOutput(function Function, partitions uint64, data []byte) Output {
	return Output{Function: function, Partitions: partitions, Data: data, Sum: Checksum(data)}
}

func (p Partial) Check() error {
	return check(p.Data, p.Sum, "partial of node "+p.Node.String())
}

func (o Output) Check() error {
	return check(o.Data, o.Sum, "output of "+o.Function.String())
}

func check(data []byte, want uint32, what string) error {
	if sum := Checksum(data); sum != want {
		return fmt.Errorf("%w: %s has checksum %08x, its data %08x", ErrMalformed, what, want, sum)
	}
	return nil
}
